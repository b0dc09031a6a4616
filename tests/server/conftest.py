"""A site that is published once and served for all tests of this folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.served import Served, nginx, published_site, serve_here


@pytest.fixture(scope="session")
def clean_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment without the user's settings."""
    home = tmp_path_factory.mktemp("home")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("HATE_", "XDG_"))}
    return inherited | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


@pytest.fixture(autouse=True)
def isolated(clean_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers in this process ignore the user's settings, too."""
    for name in os.environ.keys() - clean_env.keys():
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, clean_env[name])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, clean_env: dict[str, str]) -> Path:
    """A site that no test may change."""
    before = dict(os.environ)
    os.environ |= clean_env
    try:
        return published_site(tmp_path_factory.mktemp("published") / "site")
    finally:
        os.environ.clear()
        os.environ |= before


@pytest.fixture(scope="session")
def served(site: Path, clean_env: dict[str, str]) -> Iterator[Served]:
    """The site, served by `hate serve`."""
    with serve_here(site) as running:
        yield running


@pytest.fixture(scope="session")
def by_nginx(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The site, served by nginx."""
    with nginx(site, tmp_path_factory.mktemp("nginx")) as running:
        yield running


@pytest.fixture(params=["hate serve", "nginx"])
def server(request: pytest.FixtureRequest) -> Served:
    """Each server in turn: both must behave the same."""
    running: Served = request.getfixturevalue({"hate serve": "served", "nginx": "by_nginx"}[request.param])
    return running
