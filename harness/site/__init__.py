"""Sites: tests and transcripts are published, found, downloaded and cached."""
