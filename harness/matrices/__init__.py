"""Similarity matrices: reading them, choosing galleries and probes, ranking."""
