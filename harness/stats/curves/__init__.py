"""Curves over a threshold: counts, ROC, DET, precision-recall, their summaries, and the uncertainty of all of them."""
