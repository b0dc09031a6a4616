"""`hate urn`: which sampling design explains how a rate varies from trial to trial.

After Micheals and Boult, "Is the Urn Well-Mixed?" (2004).
"""

from harness.plugins import CommandEntry

URN = CommandEntry(
    name="urn",
    summary="which way of sampling explains how a rate varies from trial to trial",
    where="harness.lab.urn.command:urn_command",
)
