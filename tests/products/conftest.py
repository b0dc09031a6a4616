"""Runs of every subject, made once; tests do not change them."""

from pathlib import Path

import pytest

from harness import measures
from tests.products.measures import BLUR_PER_COST, CSI, Rated
from tests.products.subjects import SUBJECTS, Runs, make_runs


class AllRuns:
    """Runs by the name of their subject, made when they are first asked for."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self._folder, self._cache = folder, cache
        self._made: dict[tuple[str, ...], Runs] = {}

    def of(self, name: str, *words: str) -> Runs:
        """The runs of a subject, or those of `hate run` with further options."""
        if (key := (name, *words)) not in self._made:
            folder = self._folder / str(len(self._made)) / name
            with pytest.MonkeyPatch.context() as patch:
                # The test that asks first may have a cache of its own, and where the test is, is known to the cache.
                patch.setenv("XDG_CACHE_HOME", str(self._cache))
                self._made[key] = make_runs(SUBJECTS[name], folder, *words)
        return self._made[key]


@pytest.fixture(scope="session")
def all_runs(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> AllRuns:
    """The runs that all tests of a process share."""
    return AllRuns(tmp_path_factory.mktemp("products"), cache)


@pytest.fixture(scope="session")
def rated() -> Rated:
    """What `hate rate` says of the runs, asked for once by all tests of a process."""
    return Rated()


@pytest.fixture(scope="session")
def plugin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installer leaves of a package that has measures."""
    folder = tmp_path_factory.mktemp("plugins")
    info = folder / "extra_measures-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra-measures\nVersion: 1.0\n", encoding="utf-8")
    places = {CSI.name: "CSI", BLUR_PER_COST.name: "BLUR_PER_COST"}
    entries = "".join(f"{name} = tests.products.measures:{constant}\n" for name, constant in places.items())
    (info / "entry_points.txt").write_text(f"[hate.measures]\n{entries}", encoding="utf-8")
    return folder


@pytest.fixture
def plugins(plugin_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The measures of that package, beside the built-in ones."""
    monkeypatch.setattr(measures.PLUGINS, "_loaded", {})
    monkeypatch.syspath_prepend(str(plugin_folder))
