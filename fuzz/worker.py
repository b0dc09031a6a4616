"""The attempts, in a process that may crash or hang without harm to the one that watches it."""

import argparse
import hashlib
import json
import multiprocessing
import os
import resource
import sys
import time
from collections import Counter
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random

from fuzz.attempt import SECONDS, Attempt, forget_settings, try_out
from fuzz.sample import Sample
from fuzz.samples import all_samples

# Of the whole process: what asks for more gets a MemoryError, which is a finding.
MAX_MEMORY = 6 << 30
PATIENCE = 3 * SECONDS


def fuzz(scratch: Path, options: argparse.Namespace) -> tuple[Counter[str], dict[str, str]]:
    """Attempts until the time is up, in a process that may crash or hang without harm to this one."""
    tried, found = Counter[str](), dict[str, str]()
    deadline, first = time.monotonic() + 60 * options.minutes, 0
    while time.monotonic() < deadline:
        ours, theirs = multiprocessing.Pipe()
        folder = scratch / f"worker-{first}"
        folder.mkdir()
        process = multiprocessing.get_context("spawn").Process(
            target=work, args=(theirs, folder, options, first, deadline)
        )
        process.start()
        theirs.close()
        last = _watch(ours, process, tried, found, options.found, first)
        if not tried:
            raise RuntimeError("the samples could not be made; run `python -m fuzz --list` to see why")
        first = 1 + last
    return tried, found


def _watch(
    ours: Connection, process: BaseProcess, tried: Counter[str], found: dict[str, str], folder: Path, first: int
) -> int:
    """Collect what the process says; the number of its last attempt."""
    number, current = first, None
    try:
        while ours.poll(PATIENCE):
            number, attempt, over = ours.recv()
            if attempt is None:
                break
            current = None if over else attempt
            tried[attempt.sample] += over
            if over and attempt.wrong:
                _keep(attempt, found, folder)
        else:
            _end(process, current, f"hung for more than {PATIENCE} s", found, folder)
    except EOFError:
        process.join()
        _end(process, current, f"killed the process: exit status {process.exitcode}", found, folder)
    process.join()
    return number


def _end(process: BaseProcess, current: Attempt | None, wrong: str, found: dict[str, str], folder: Path) -> None:
    process.kill()
    if current is None:
        raise RuntimeError(f"between two attempts the fuzzer itself {wrong}")
    _keep(replace(current, wrong=wrong), found, folder)


def _keep(attempt: Attempt, found: dict[str, str], folder: Path) -> None:
    """Save one case of each kind of finding."""
    kind = f"{attempt.words[0]} {_kind(attempt.wrong)}"
    if kind not in found:
        name = f"{attempt.words[0]}-{hashlib.sha256(attempt.data).hexdigest()[:8]}"
        attempt.save(folder / f"{name}.json")
        found[kind] = f"{name}: {attempt.sample}: {' '.join(attempt.words)}: {attempt.wrong}"
        print(f"found {found[kind]}", flush=True)


def _kind(wrong: str) -> str:
    """A finding without its values: the same mistake is found many times."""
    text = wrong.partition(": ")[2] if wrong.startswith("hate: ") else wrong
    return "".join(char for char in text if char.isalpha() or char in ": ")[:40]


def work(theirs: Connection, folder: Path, options: argparse.Namespace, first: int, deadline: float) -> None:
    """Make attempts, and say of each that it begins and how it ended."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    # Programs and C code print to the file numbers; our own mistakes are still seen.
    sys.stderr = os.fdopen(os.dup(2), "w")
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    forget_settings(folder / "home")
    samples = [one for one in all_samples(folder) if options.only in one.name]
    number = first
    while time.monotonic() < deadline:
        attempt, sample = make_attempt(samples, options.seed, number)
        theirs.send((number, attempt, False))
        theirs.send((number, replace(attempt, wrong=try_out(attempt, sample, folder / "work")), True))
        number += 1
    theirs.send((number, None, True))


def make_attempt(samples: list[Sample], seed: int, number: int) -> tuple[Attempt, Sample]:
    """The attempt with this number: the same for everyone who has the same seed and samples."""
    rng = Random(json.dumps([seed, number]))
    sample = samples[number % len(samples)]
    return Attempt(sample.name, sample.command(rng), sample.target, sample.damaged(rng)), sample
