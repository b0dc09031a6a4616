"""A site that is published once and served for as long as the tests of this folder take."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.served import Served, nginx, published_site, serve_here


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with nothing of the user's in it."""
    home = tmp_path_factory.mktemp("home")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HATE_", "XDG_"))}
    return kept | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


@pytest.fixture(autouse=True)
def apart(elsewhere: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers in this process touch nothing of the user's either."""
    for name in os.environ.keys() - elsewhere.keys():
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, elsewhere[name])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, elsewhere: dict[str, str]) -> Path:
    """A folder that nobody may change."""
    before = dict(os.environ)
    os.environ |= elsewhere
    try:
        return published_site(tmp_path_factory.mktemp("published") / "site")
    finally:
        os.environ.clear()
        os.environ |= before


@pytest.fixture(scope="session")
def served(site: Path, elsewhere: dict[str, str]) -> Iterator[Served]:
    """That folder by the server of `hate serve`."""
    with serve_here(site) as running:
        yield running


@pytest.fixture(scope="session")
def by_nginx(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """That folder by nginx."""
    with nginx(site, tmp_path_factory.mktemp("nginx")) as running:
        yield running


@pytest.fixture(params=["hate serve", "nginx"])
def server(request: pytest.FixtureRequest) -> Served:
    """Each in turn: what is asked of this must be the same of both."""
    running: Served = request.getfixturevalue({"hate serve": "served", "nginx": "by_nginx"}[request.param])
    return running
