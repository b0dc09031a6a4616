"""What this package adds to the command line. It is light: `hate --help` looks at it."""

from harness.plugins import CommandEntry

MISHEARD = CommandEntry("misheard", "the words that were missed most often", "hate_words.misheard:misheard_command")
