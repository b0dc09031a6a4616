"""Recognition rates of the same people with other gallery and probe images: `hate permute`.

After section 7 of Beveridge and others, *Parametric and Nonparametric Methods for the Statistical Evaluation of Human
ID Algorithms* (2001).
"""

from harness.plugins import CommandEntry

PERMUTE = CommandEntry(
    name="permute",
    summary="recognition rates of the same people with other choices of image, from matrices",
    where="harness.lab.permute.command:permute_command",
)
