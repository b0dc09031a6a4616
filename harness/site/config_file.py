"""The configuration file, config.toml: all its keys."""

from pathlib import Path

from harness.files.mistakes import Mistakes
from harness.files.toml import Section, read_toml, validate


class ConfigFile(Section):
    """config.toml."""

    # Addresses or folders.
    sites: list[str] = []
    # Public keys and mirrors, by site.
    keys: dict[str, str] = {}
    mirrors: dict[str, list[str]] = {}


def read_config_file(path: Path) -> ConfigFile:
    """What the file says; an error lists all mistakes at once."""
    parsed, text = read_toml(path)
    return validate(ConfigFile, parsed, text, Mistakes(str(path)))
