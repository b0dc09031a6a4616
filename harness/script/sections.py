"""The sections of scripts that come in through `hate.sections`: which there are, and what those of a script say."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from pydantic import create_model

from harness.errors import ScriptError, UsageError
from harness.options.entries import SECTIONS
from harness.script.expansion import Expansion
from harness.script.schema import ScriptFile

# Sections of the format whose code is a room of this package, which may have been taken away.
_OF_ROOMS = ("vary",)


def script_model(keys: Iterable[str], about: str) -> type[ScriptFile]:
    """What a script with these keys must look like; `about` is what to call it in messages."""
    more = [key for key in keys if key not in ScriptFile.model_fields]
    if not more:
        return ScriptFile
    for name in _OF_ROOMS:
        if name in more and SECTIONS.find(name) is None:
            raise ScriptError(
                f"{about}: [{name}] cannot be read: this copy of hate-harness has no folder harness/{name}; "
                "install it completely"
            )
    # Those that are here, of which a key may be a misspelling, and those of others that are used.
    used = [name for name in more if SECTIONS.find(name) is not None]
    return _model_with(tuple(dict.fromkeys([*SECTIONS.here(), *used])))


@cache
def _model_with(names: tuple[str, ...]) -> type[ScriptFile]:
    fields: dict[str, Any] = {name: (_class(name).section, None) for name in names}
    return create_model("ScriptFile", __base__=ScriptFile, **fields)


@cache
def _class(name: str) -> type[Expansion]:
    entry = SECTIONS.find(name)
    if entry is None:
        raise UsageError(f"section [{name}] is not here; install the package that it comes from")
    found = entry.load(Expansion)  # type: ignore[type-abstract]
    if found.entry != entry:
        raise UsageError(f"{entry.where}: its entry is not the one that names it, {entry.name}")
    return found


def take_sections(file: ScriptFile) -> tuple[ScriptFile, list[Expansion]]:
    """A script without the sections that come in from elsewhere, and what these say."""
    core = {name: getattr(file, name) for name in ScriptFile.model_fields}
    added = [name for name in type(file).model_fields if name not in core and getattr(file, name) is not None]
    found = [_class(name).of(getattr(file, name)) for name in added]
    return ScriptFile.model_construct(**core), [one for one in found if one is not None]
