"""Transcripts: one record per case, append-only, fast to read."""
