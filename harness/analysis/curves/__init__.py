"""Curves from transcripts: what a score is worth, how sure one can be of a curve, where two of them cross."""
