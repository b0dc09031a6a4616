"""Logs of other tools, and helpers to import them."""

import json
from pathlib import Path
from typing import Any

from tests.workshop import Done, Record, Workshop

DATA = Path(__file__).parent.parent / "data" / "import"
LM_EVAL = DATA / "lm_eval"
INSPECT = DATA / "inspect_ai"
PROMPTFOO = DATA / "promptfoo"


def import_one(shop: Workshop, *words: str | Path) -> tuple[Record, dict[str, Record]]:
    """The header and the records by id of the one transcript that an import writes; it must be valid."""
    done = shop.call("import", *words, "-o", "out.jsonl", "--force")
    assert done.status == 0, done.err
    assert shop.call("check", "out.jsonl").out.startswith("out.jsonl: a valid transcript")
    header = shop.lines()[0]
    records = shop.records()
    return header, {f"{r['id']}#{r['repeat']}" if "repeat" in r else r["id"]: r for r in records}


def outcomes(records: dict[str, Record]) -> dict[str, str]:
    return {name: record["outcome"] for name, record in records.items()}


def refused(shop: Workshop, *words: str | Path) -> str:
    """The one line that a failing import prints; it leaves nothing behind."""
    before = sorted(shop.folder.rglob("*"))
    done: Done = shop.call("import", *words)
    assert done.status == 2, done
    assert done.out == ""
    assert sorted(shop.folder.rglob("*")) == before
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    return lines[0]


def document(path: Path) -> Any:
    return json.loads(path.read_bytes())
