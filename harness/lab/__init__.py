"""The papers' experiments and second opinions: each in a folder with its statistics, analysis, words and command.

The lab comes in as any other package does, through entry points; without this folder all else works as before.
"""

ENTRY_POINTS = {
    "hate.commands": {
        "anova": "harness.lab.anova:ANOVA",
        "urn": "harness.lab.urn:URN",
        "zoo": "harness.lab.zoo:ZOO",
    },
}
