"""The papers' experiments and second opinions: each in a folder with its statistics, analysis, words and command.

Nothing outside imports from here: what there is comes in through the entry points below, as from another package.
"""

ENTRY_POINTS = {
    "hate.commands": {
        "anova": "harness.lab.anova:ANOVA",
        "galleries": "harness.lab.galleries:GALLERIES",
        "methods": "harness.lab.methods:METHODS",
        "permute": "harness.lab.permute:PERMUTE",
        "urn": "harness.lab.urn:URN",
        "zoo": "harness.lab.zoo:ZOO",
    },
    "hate.options": {
        "cross_check": "harness.lab.opinions:CROSS_CHECK",
        "folds": "harness.lab.opinions:FOLDS",
        "binormal": "harness.lab.binormal:BINORMAL",
    },
    "hate.measures": {
        "auc_binormal": "harness.lab.binormal.measure:AUC_BINORMAL",
    },
}
