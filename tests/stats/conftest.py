"""Another processor: its eigenvectors are right too, but not the same."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def another_processor() -> Callable[[], AbstractContextManager[None]]:
    """Within it, eigenvectors have other signs, and other directions where eigenvalues are equal."""
    found = np.linalg.eigh

    def eigh(matrix: Any) -> tuple[Any, Any]:
        values, vectors = found(matrix)
        rng, start = np.random.default_rng(5), 0
        for stop in [*np.nonzero(np.diff(values) > 1e-9 * np.abs(values).max())[0] + 1, len(values)]:
            turn, _ = np.linalg.qr(rng.standard_normal((stop - start, stop - start)))
            vectors[:, start:stop] = vectors[:, start:stop] @ -turn
            start = stop
        return values, vectors

    @contextmanager
    def replaced() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(np.linalg, "eigh", eigh)
            yield

    return replaced
