"""The laboratory: experiments of the papers and second opinions, each with its statistics, words and command.

Nothing outside imports from here: what there is comes in through the entry points below, as from another package.
"""

ENTRY_POINTS = {
    "hate.commands": {
        "permute": "harness.lab.permute:PERMUTE",
        "galleries": "harness.lab.galleries:GALLERIES",
        "methods": "harness.lab.methods:METHODS",
    },
}
