"""How long and how large a download may be, and how often it is tried."""

from dataclasses import dataclass

MINUTE = 60.0
GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Of one download, redirects and repeated attempts included."""

    seconds: float = 10 * MINUTE
    # Both of what comes over the wire and of what it unpacks to.
    size: int = 4 * GIB
    attempts: int = 4
    # Seconds before the second attempt; doubled for every further one, with jitter.
    pause: float = 0.5
    connect_seconds: float = 10.0
    # A server that sends nothing for this long has gone.
    silent_seconds: float = MINUTE
    # What to do about a download that is too slow or too large, for the messages.
    slow_remedy: str = "allow more time with --http-timeout"
    large_remedy: str = "allow more with --http-limit if you trust the server"
