"""`hate anova`: analysis of variance of success over columns of the cases, with tests that fit the design.

The covariance of the coefficients is Binder's (1983), the degrees of freedom are Korn and Graubard's (1990).
"""

from harness.plugins import CommandEntry

ANOVA = CommandEntry(
    name="anova",
    summary="which columns of the cases matter, and which depend on each other",
    where="harness.lab.anova.command:anova_command",
)
