"""Curves of transcripts: the type of all of them, how each kind is made, and its errors."""
