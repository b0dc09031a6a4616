"""Programs that make the bundled data again from its sources."""
