"""Standard errors of recognition rates by several methods of replication side by side: `hate methods`.

Figures 3 and 5 of Micheals and Boult, *Efficient Evaluation of Classification and Recognition Systems* (2001).
"""

from harness.plugins import CommandEntry

METHODS = CommandEntry(
    name="methods",
    summary="standard errors of recognition rates by BRR, jackknife and bootstrap, side by side",
    where="harness.lab.methods.command:methods_command",
)
