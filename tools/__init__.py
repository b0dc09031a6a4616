"""Programs that make the bundled data again from their sources."""
