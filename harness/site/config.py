"""The user's configuration: sites with their keys and mirrors, and whether to stay offline."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from platformdirs import user_config_path

from harness.errors import HateError, UsageError
from harness.site.urls import is_url, masked, normalised, parse

SITES = "HATE_SITES"
OFFLINE = "HATE_OFFLINE"
# One element for every `without_network` that is entered.
_offline: list[bool] = []


@dataclass(frozen=True)
class UserConfig:
    """What config.toml says."""

    # Addresses or folders.
    sites: list[str] = field(default_factory=list)
    # Public keys and mirrors, by site.
    keys: dict[str, str] = field(default_factory=dict)
    mirrors: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class SiteConfig:
    """A site: where it is, the key that must have signed its index, and its mirrors."""

    # An address without a trailing slash, or a folder.
    address: str
    key: str = ""
    mirrors: tuple[str, ...] = ()

    @property
    def is_folder(self) -> bool:
        """Whether it is on this machine."""
        return not is_url(self.address)

    @property
    def name(self) -> str:
        """The address for messages, without passwords."""
        return self.address if self.is_folder else masked(self.address)


def config_path() -> Path:
    """Where the configuration file is, by the conventions of the platform."""
    return user_config_path("hate", appauthor=False) / "config.toml"


def read_config() -> UserConfig:
    """The configuration; an empty one if there is no file."""
    path = config_path()
    if not path.is_file():
        return UserConfig()
    # Imported here, because most users have no such file and pydantic takes long to import.
    from harness.files.mistakes import Mistakes
    from harness.files.toml import Section, read_toml, validate

    class ConfigFile(Section):
        sites: list[str] = []
        keys: dict[str, str] = {}
        mirrors: dict[str, list[str]] = {}

    parsed, text = read_toml(path)
    file = validate(ConfigFile, parsed, text, Mistakes(str(path)))
    return UserConfig(file.sites, file.keys, file.mirrors)


def configured_sites() -> list[SiteConfig]:
    """The sites in order: from HATE_SITES, separated by blanks, or else from the configuration."""
    config = read_config()
    addresses = os.environ[SITES].split() if SITES in os.environ else config.sites
    # Two spellings of an address are one site.
    return list({site.address: site for site in (site_config(address, config) for address in addresses)}.values())


def site_config(address: str, config: UserConfig | None = None) -> SiteConfig:
    """A site, with what the configuration says about it."""
    known = read_config() if config is None else config
    plain = _plain(address)
    keys = {_plain(site): key for site, key in known.keys.items()}
    mirrors = {_plain(site): tuple(map(_plain, urls)) for site, urls in known.mirrors.items()}
    # Keys and mirrors belong to the site, whatever credentials its address has.
    bare = plain if not is_url(plain) else _plain(parse(plain).url)
    return SiteConfig(plain, keys.get(bare, keys.get(plain, "")), mirrors.get(bare, mirrors.get(plain, ())))


def _plain(address: str) -> str:
    if not is_url(address):
        return address
    try:
        return normalised(address.partition("#")[0].partition("?")[0].removesuffix("hate-site.json"))
    except HateError as error:
        raise UsageError(f"site {error}; see {SITES} and {config_path()}") from None


def is_offline() -> bool:
    """Whether --offline was given, or HATE_OFFLINE is set."""
    return bool(_offline) or os.environ.get(OFFLINE, "") not in ("", "0")


@contextmanager
def without_network() -> Iterator[None]:
    """Within it, nothing is downloaded: there is what is here or in the cache."""
    _offline.append(True)
    try:
        yield
    finally:
        _offline.pop()
