"""Where the harness keeps what it can make again."""

from pathlib import Path

from platformdirs import user_cache_path

# The prefix of entries of the cache that are still being made or already being removed.
UNFINISHED_PREFIX = ".making-"
# The columns of large transcripts, by the size and the SHA-256 of the transcript.
KEPT_COLUMNS = "columns"

# The SHA-256 of data that was hashed before, by the place of the data.
KNOWN_DIGESTS = "digests"
# Which transcripts were judged again, by their SHA-256.
JUDGED = "judged"


def cache_folder() -> Path:
    """The cache folder, by the conventions of the platform."""
    return user_cache_path("hate", appauthor=False)
