"""`hate serve`: a site over HTTP, as a static server would serve it, with pages, and a door for transcripts."""
