"""Standard output while an algorithm runs inside the harness: it belongs to the results."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO


@contextlib.contextmanager
def kept_clean() -> Iterator[None]:
    """Within it, what C code or a child of the interface prints goes to stderr; the harness prints as before."""
    before = sys.stdout
    if not _is_usual(before):
        yield
        return
    before.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(kept, "w", 1 if before.line_buffering else -1, before.encoding, before.errors)
    try:
        yield
        sys.stdout.flush()
    finally:
        os.dup2(kept, 1)
        with contextlib.suppress(OSError):  # whoever read the output is gone, and that was raised above
            sys.stdout.close()
        sys.stdout = before


def _is_usual(out: TextIO | None) -> bool:
    """Whether there is a standard output and a standard error, and nobody has put something else in their place."""
    try:
        os.fstat(2)
        return out is not None and out.fileno() == 1
    except (OSError, ValueError):
        return False
