"""Results of other tools as transcripts: one small file a format, recognised by content."""
