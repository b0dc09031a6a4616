"""The configuration's file: every key of it."""

from pathlib import Path

from harness.files.mistakes import Mistakes
from harness.files.strict_toml import Section, read_toml, validate


class ConfigFile(Section):
    """config.toml."""

    # Addresses or folders.
    sites: list[str] = []
    # Public keys and mirrors, by site.
    keys: dict[str, str] = {}
    mirrors: dict[str, list[str]] = {}


def read_config_file(path: Path) -> ConfigFile:
    """What the file says; every mistake of it at once otherwise."""
    parsed, text = read_toml(path)
    return validate(ConfigFile, parsed, text, Mistakes(str(path)))
