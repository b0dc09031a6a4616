"""The workshop fixtures, and property tests that are the same on every machine."""

import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.browser import Browser, browsing
from tests.workshop import Workshop

# `--hypothesis-profile thorough` has 100 examples of each property.
settings.register_profile("thorough", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=20)
settings.load_profile("quick")

UNSET_VARIABLES = (
    "HATE_LIBRARY",
    "HATE_SITES",
    "HATE_OFFLINE",
    "HATE_COLUMNS",
    "HATE_DEBUG",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "PYTHONUNBUFFERED",
)


# Half of the time of collecting would go into looking for garbage among what stays for good.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test that is sampled, all but every `n`th of its parameters are slow."""
    seen: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is None or item.get_closest_marker("slow") is not None:
            continue
        name = item.nodeid.partition("[")[0]
        if seen[name] % mark.args[0]:
            item.add_marker(pytest.mark.slow)
        seen[name] += 1


def pytest_collection_finish() -> None:
    """Look for garbage again, and only in what tests make."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two more than there are cores: many tests wait for processes and sockets."""
    return (os.cpu_count() or 1) + 2


@pytest.fixture(scope="session")
def common_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests, because unpacking the bundled data takes longer than most of them.

    Its path has a space and a letter outside ASCII, and so do the inputs of programs in every language.
    """
    return tmp_path_factory.mktemp("caché d'images")


@pytest.fixture(scope="session")
def cache(common_cache: Path) -> Path:
    """The cache of a test; rooms whose tests see what others left there give each its own."""
    return common_cache


@pytest.fixture(scope="session")
def fonts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where matplotlib keeps its list of fonts, which takes seconds to make; one for all tests and processes."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "matplotlib"


@pytest.fixture(scope="session")
def running_browser() -> Iterator[Browser]:
    """One browser for all tests of a process; starting it takes longer than most of them."""
    with browsing() as running:
        yield running


@pytest.fixture
def browser(running_browser: Browser) -> Browser:
    """The browser with an empty page, and without what it noted of those of other tests."""
    running_browser.open("about:blank")
    running_browser.complaints.clear()
    running_browser.requests.clear()
    return running_browser


@pytest.fixture
def shop(
    tmp_path: Path, cache: Path, fonts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Workshop]:
    """An empty folder without the user's settings; afterwards, nothing may be left running."""
    folder = tmp_path / "work"
    folder.mkdir()
    paths = {"HOME": tmp_path / "home", "XDG_CACHE_HOME": cache, "MPLCONFIGDIR": fonts, "HATE_WORKSHOP": tmp_path}
    for name, path in paths.items():
        monkeypatch.setenv(name, str(path))
    for name in UNSET_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    workshop = Workshop(folder, capsys, dict(os.environ))
    yield workshop
    assert workshop.left_running() == []


@pytest.fixture
def toy(shop: Workshop) -> Workshop:
    """A workshop with the toy test of six cases and an interface that echoes the input."""
    shop.script()
    shop.interface()
    return shop
