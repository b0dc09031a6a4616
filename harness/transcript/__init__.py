"""Transcripts: one record a case, written append-only, read fast."""
