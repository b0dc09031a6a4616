"""Similarity matrices: read them, choose galleries and probes out of them, rank."""
