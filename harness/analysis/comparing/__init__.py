"""Compare transcripts of one test: align them, take their design, test, estimate, and say it in words."""
