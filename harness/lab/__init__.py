"""The papers' experiments and second opinions: each a part of its own, with its statistics, its report and its options.

The parts come in by the entry points below, as those of any other package do. Without this folder, everything else
works.
"""

ENTRY_POINTS = {
    "hate.options": {
        "cross_check": "harness.lab.opinions:CROSS_CHECK",
        "folds": "harness.lab.opinions:FOLDS",
        "binormal": "harness.lab.binormal:BINORMAL",
    },
    "hate.measures": {
        "auc_binormal": "harness.lab.binormal.measure:AUC_BINORMAL",
    },
}
