"""Pictures, with matplotlib: an extra, imported only here and only when a picture is asked for."""
