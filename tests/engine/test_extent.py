"""What a header says about the extent and the parameters of a run, and how --resume uses it."""

import json

import msgspec
import pytest

from harness.transcript.format import Header, differences
from tests.workshop import ECHO, Workshop

PARAMETERS = "PARAMS = {'bits': 10, 'mode': 'fast'}\n"


def header(shop: Workshop, *words: str) -> dict[str, object]:
    done = shop.call("run", "toy", "-o", "out.jsonl", "--force", *words)
    assert done.status == 0, done.err
    found: dict[str, object] = shop.lines()[0]
    return found


@pytest.mark.parametrize(("words", "extent"), [
    ([], None), (["--limit", "2"], {"limit": 2}), (["--limit", "6"], None), (["--limit", "60"], None),
    (["--repeat", "2", "--limit", "5"], {"limit": 5}),
])  # fmt: skip
def test_the_header_of_a_part_has_its_extent(words: list[str], extent: object, toy: Workshop) -> None:
    assert header(toy, *words).get("extent") == extent


def test_the_header_has_defaults_and_parameters(toy: Workshop) -> None:
    toy.interface(PARAMETERS + ECHO)
    found = header(toy, "--param", "bits=2", "--param", "threshold=0.5")
    assert found["params"] == {"threshold": 0.5, "bits": 2, "mode": "fast"}
    assert found["defaults"] == {"threshold": 0.0, "bits": 10, "mode": "fast"}
    decoded = msgspec.json.decode(json.dumps(found), type=Header)
    assert decoded.changed == {"threshold": 0.5, "bits": 2}
    assert decoded.part == {}


def cut(toy: Workshop, **changes: object) -> None:
    """Keep the first two records of the run, and change its header."""
    path = toy.folder / "out.jsonl"
    first, *rest = path.read_bytes().splitlines(keepends=True)
    changed = {key: value for key, value in (json.loads(first) | changes).items() if value is not None}
    path.write_bytes(json.dumps(changed).encode() + b"\n" + b"".join(rest[:2]))


def test_a_run_from_before_extents_is_resumed(toy: Workshop) -> None:
    header(toy, "--limit", "4")
    cut(toy, extent=None, defaults=None)
    assert toy.call("run", "toy", "-o", "out.jsonl", "--resume", "--limit", "4").status == 0
    assert len(toy.records()) == 4


@pytest.mark.parametrize("words", [[], ["--limit", "3"]])
def test_a_run_of_another_extent_is_not_resumed(words: list[str], toy: Workshop) -> None:
    header(toy, "--limit", "4")
    cut(toy)
    done = toy.call("run", "toy", "-o", "out.jsonl", "--resume", *words)
    assert done.status == 2
    assert "from a different run: limit (4 there, " in done.err


def test_a_fold_is_not_resumed_as_a_whole_run(toy: Workshop) -> None:
    header(toy)
    cut(toy, extent={"without_fold": 1, "folds": 2, "seed": 0})
    done = toy.call("run", "toy", "-o", "out.jsonl", "--resume")
    assert done.status == 2
    assert "from a different run: train (" in done.err


def test_a_limit_of_all_cases_is_a_whole_run(toy: Workshop) -> None:
    header(toy)
    cut(toy)
    assert toy.call("run", "toy", "-o", "out.jsonl", "--resume", "--limit", "6").status == 0
    assert len(toy.records()) == 6


def test_extents_and_their_older_keys_mean_the_same() -> None:
    test = {"name": "t", "version": "1", "digest": "d", "cases": 9}
    base = {"hate": "transcript", "format": 1, "test": test, "algorithm": {"name": "a"}}
    new, old = (
        msgspec.convert(base | more, Header)
        for more in ({"extent": {"limit": 2, "without_fold": 1}}, {"limit": 2, "train": {"without_fold": 1}})
    )
    assert new.part == old.part
    assert differences(new, old) == []
