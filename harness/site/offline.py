"""Whether anything may be asked over the network."""

import os

_VARIABLE = "HATE_OFFLINE"
_told: list[bool] = []


def is_offline() -> bool:
    """Whether --offline was given, or HATE_OFFLINE is set."""
    return bool(_told) or os.environ.get(_VARIABLE, "") not in ("", "0")


def go_offline() -> None:
    """From now on nothing is asked."""
    _told.append(True)


def go_online() -> None:
    """Take back one `go_offline`."""
    _told.pop()
