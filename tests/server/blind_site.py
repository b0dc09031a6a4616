"""A blind test, its site, and people who hand in answers."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from harness.server.blind_board import BlindSubmission, Board, submissions
from harness.server.database import Database
from harness.server.state import ServedSite, find_test
from harness.site.blind import find_hidden, hide_test, private_folder
from harness.site.publish import publish
from tests.server.served import Served
from tests.workshop import Workshop

CASES = 60
SCRIPT = """\
format = 1
[test]
name = "riddle"
version = "1.0"
synopsis = "a blind toy: \\"odd\\" or even"
task = "{task}"
description = '''
# Heading
with a tab\t and ünïcode'''
[cases]
table = "cases.csv"
[params.threshold]
type = "float"
default = 0.25
decision = true
[design]
stratum = "truth"
psu = "page"
"""
# Right on all but every seventh case.
GOOD = """\
NAME = "good"
def answer(case, params):
    number = int(case.input.rpartition(" ")[2])
    right, wrong = ("odd", "even") if bits(number) else ("even", "odd")
    return (wrong if number % {every} == 0 else right, 0.5)
def bits(number):
    return bin(number // 2 * 2654435761 % 2**32).count("1") % 2
"""


def truth(number: int) -> str:
    """The two cases of a page have the same class."""
    return "odd" if bin(number // 2 * 2654435761 % 2**32).count("1") % 2 else "even"


def riddle(folder: Path, *, task: str = "label", cases: int = CASES) -> Path:
    """A test whose truth is hard to guess; every third claim is false, two cases are on a page."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["id,input,expect,positive,truth,page,weather,code"]
    for n in range(cases):
        claim = truth(n) if n % 3 else ("even" if truth(n) == "odd" else "odd")
        lines.append(
            f"asked{n},number {n},{claim},{str(bool(n % 3)).lower()},{truth(n)},p{n // 2},w{n % 4},{n % 3}{truth(n)[0]}"
        )
    (folder / "cases.csv").write_text("\n".join([*lines, ""]))
    (folder / "riddle.hate.toml").write_text(SCRIPT.format(task=task))
    (folder / "README.md").write_text("Where the numbers come from.\n")
    return folder


class BlindSite:
    """A site with a blind test, its owner, and two people who hand something in."""

    def __init__(self, shop: Workshop, folder: Path) -> None:
        self.shop, self.root, self.tokens = shop, folder / "site", folder / "tokens.db"
        self.source = riddle(folder / "riddle")
        done = shop.call("publish", str(self.source), "--blind", "--to", str(self.root))
        assert done.status == 0, done.err
        self.said = done.err
        self.private = private_folder(self.root)
        self.anna, self.ben = Database(self.tokens).add_token("anna"), Database(self.tokens).add_token("ben")

    def run(self, output: str, every: int = 7) -> Path:
        """A run elsewhere, by someone who has only what is published."""
        self.shop.interface(GOOD.format(every=every))
        done = self.shop.call("run", "riddle", "-o", output, "--force")
        assert done.status == 0, done.err
        return self.shop.folder / output

    def submit(self, server: Served, token: str, *words: str, monkeypatch: pytest.MonkeyPatch) -> Any:
        monkeypatch.setenv("HATE_TOKEN", token)
        return self.shop.call("submit", *words, "--to", server.url, "--format", "json")


def resealed(lines: list[dict[str, Any]]) -> bytes:
    body = "".join(json.dumps(line) + "\n" for line in lines[:-1]).encode()
    return body + json.dumps(lines[-1] | {"sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n"


class Climber:
    """Someone who hands in answers straight to the board, as the server does."""

    def __init__(self, folder: Path, cases: int) -> None:
        self.folder, self.cases = folder, cases
        self.root = folder / "site"
        self.private = private_folder(self.root)
        split = hide_test(riddle(folder / "riddle", cases=cases), self.private)
        publish(self.root, [split.candidate])
        self.board = Board(self.root, self.private)
        self.site = ServedSite(self.root)

    def hand_in(self, answers: list[str], name: str, by: str = "anna") -> bool:
        """Whether the board has moved."""
        test = find_test(self.site.state(), "riddle")
        assert test is not None
        info = {"name": "riddle", "version": "1.0", "digest": test.version.digest, "cases": self.cases}
        header = {"hate": "transcript", "format": 1, "test": info, "algorithm": {"name": name}, "blind": True}
        header |= {"params": {"threshold": 0.0}, "design": {"psu": "page"}}
        records = [{"id": f"asked{n}", "actual": said} for n, said in enumerate(answers)]
        path = self.folder / "answers.jsonl"
        path.write_bytes(resealed([header, *records, {"end": True, "tests": self.cases}]))
        reply = self.board.submit(test, BlindSubmission(path, name, by))
        return reply.status is not None and reply.status.value == "published"

    def shown(self, by: str = "anna") -> list[float]:
        hidden = find_hidden(self.private, "riddle", "1.0")
        assert hidden is not None
        return [entry.rate for entry in submissions(hidden).submissions() if entry.shown and entry.by == by]
