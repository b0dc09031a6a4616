"""Whether the choice of the gallery matters, and galleries with equal shares of all images: `hate galleries`.

After section 5 of Micheals and Boult, *Efficient Evaluation of Classification and Recognition Systems* (2001).
"""

from harness.plugins import CommandEntry

GALLERIES = CommandEntry(
    name="galleries",
    summary="whether the choice of the gallery matters: each set of images in turn, and a test, from matrices",
    where="harness.lab.galleries.command:galleries_command",
)
