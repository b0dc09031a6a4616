"""Curves over a threshold: counts, ROC, DET, precision-recall, their summaries and how sure one can be of them."""
