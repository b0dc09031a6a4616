"""The user's configuration: which sites there are, whose keys they have, where copies of them are."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from platformdirs import user_config_path

from harness.errors import HateError, UsageError
from harness.site.urls import is_url, masked, parse

SITES = "HATE_SITES"


@dataclass(frozen=True)
class Config:
    """config.toml."""

    sites: list[str] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    mirrors: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class SiteConfig:
    """A site: where it is, a key that its index must be signed with, and where its files are too."""

    # An address without a slash at its end, or a folder.
    address: str
    key: str = ""
    mirrors: tuple[str, ...] = ()

    @property
    def is_folder(self) -> bool:
        """Whether it is on this machine."""
        return not is_url(self.address)

    @property
    def name(self) -> str:
        """What to call it: no passwords."""
        return self.address if self.is_folder else masked(self.address)


def config_path() -> Path:
    """The usual place of the platform."""
    return user_config_path("hate", appauthor=False) / "config.toml"


def read_config() -> Config:
    """The configuration; an empty one where there is no file."""
    path = config_path()
    if not path.is_file():
        return Config()
    # Here, because most users have none and it takes long to import.
    from harness.site.config_file import read_config_file

    found = read_config_file(path)
    return Config(found.sites, found.keys, found.mirrors)


def configured_sites() -> list[SiteConfig]:
    """The sites in order: those of HATE_SITES, a list with blanks between, or else those of the configuration."""
    config = read_config()
    named = os.environ[SITES].split() if SITES in os.environ else config.sites
    return [site_config(address, config) for address in dict.fromkeys(named)]


def site_config(address: str, config: Config | None = None) -> SiteConfig:
    """A site, with what the configuration says of it."""
    known = read_config() if config is None else config
    plain = _plain(address)
    keys = {_plain(site): key for site, key in known.keys.items()}
    mirrors = {_plain(site): tuple(map(_plain, urls)) for site, urls in known.mirrors.items()}
    # Keys and mirrors are of the place, whoever asks there.
    bare = plain if not is_url(plain) else _plain(parse(plain).url)
    return SiteConfig(plain, keys.get(bare, keys.get(plain, "")), mirrors.get(bare, mirrors.get(plain, ())))


def _plain(address: str) -> str:
    if not is_url(address):
        return address
    try:
        parse(address)
    except HateError as error:
        raise UsageError(f"site {error}; see {SITES} and {config_path()}") from None
    return address.partition("#")[0].partition("?")[0].removesuffix("hate-site.json").rstrip("/")
