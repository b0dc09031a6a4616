"""Runs of every subject, made once; tests do not change them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.products.subjects import SUBJECTS, Runs, make_runs


class AllRuns:
    """Runs by the name of their subject, made when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[tuple[str, ...], Runs] = {}

    def of(self, name: str, *words: str) -> Runs:
        """The runs of a subject, or those of `hate run` with further options."""
        if (key := (name, *words)) not in self._made:
            folder = self._folder / str(len(self._made)) / name
            self._made[key] = make_runs(SUBJECTS[name], folder, *words)
        return self._made[key]


@pytest.fixture(scope="session")
def all_runs(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[AllRuns]:
    """The runs that all tests of a process share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        yield AllRuns(tmp_path_factory.mktemp("products"))
