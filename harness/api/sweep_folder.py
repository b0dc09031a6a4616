"""The folder for the transcripts of a sweep: their names, and whether they may be written there."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from harness.engine.header import run_header
from harness.engine.run_cache import CachedRun
from harness.engine.sweep import Grid, Sweep
from harness.errors import OutputError
from harness.params import Value
from harness.transcript.format import Header, differences
from harness.transcript.read import open_transcript

LONGEST_NAME = 150


class SweepFolder:
    """The folder for the transcripts of a sweep; that each has a place there is checked before anything is run."""

    def __init__(self, folder: Path, planned: Sweep, grid: Grid, *, force: bool) -> None:
        swept = [axis.name for axis in grid.part(decision=False).axes]
        # A decision parameter of one value has it in the transcripts too; one of several has its default there.
        decided = {axis.name: axis.values[0] for axis in grid.part(decision=True).axes if len(axis.values) == 1}
        names = file_names(planned.plans[0].interface.name, [plan.params for plan in planned.plans], swept)
        self.paths = [folder / name for name in names]
        self._headers = [replace(run_header(plan), params={**plan.params, **decided}) for plan in planned.plans]
        if not force:
            for path, header in zip(self.paths, self._headers, strict=True):
                _check_free(path, header)

    def write(self, cached: Sequence[CachedRun]) -> list[Path]:
        """Put them there, each with its outcomes as its parameters decide."""
        from harness.analysis.decisions import write_decided

        for one, path, header in zip(cached, self.paths, self._headers, strict=True):
            write_decided([one.path], path, header)
        return self.paths


def file_names(algorithm: str, settings: Sequence[Mapping[str, Value]], swept: Sequence[str]) -> list[str]:
    """ALGORITHM,tuples=64,bits=8.jsonl for each setting; never the same name twice."""
    names: dict[str, None] = {}
    for setting in settings:
        words = [algorithm, *(f"{name}={value_text(setting[name])}" for name in swept)]
        stem = re.sub(r"[^A-Za-z0-9._=,+-]+", "_", ",".join(words)).strip("._-,")[:LONGEST_NAME] or "run"
        number, name = 1, f"{stem}.jsonl"
        while name in names:
            number += 1
            name = f"{stem}-{number}.jsonl"
        names[name] = None
    return list(names)


def value_text(value: Value) -> str:
    """A value as a command line takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)


def _check_free(path: Path, header: Header) -> None:
    """Refuse to overwrite what is not of the very same setting."""
    if not path.exists():
        return
    with open_transcript(path) as reader:
        found = differences(header, reader.header)
    if found:
        raise OutputError(f"{path}: exists, of another run: {'; '.join(found)}; --force overwrites it")
