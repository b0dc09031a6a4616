"""Align transcripts and columns into arrays, and call the statistics."""
