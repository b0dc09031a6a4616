"""Blind tests: the truth stays at the site, answers are judged there, and trying does not move the board."""

import gzip
import hashlib
import json
import random
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.errors import OutputError
from harness.script.cases import load_cases
from harness.script.load import load_script
from harness.server.blind_board import SUBMISSIONS, level_of, submissions
from harness.server.database import Database
from harness.server.submissions import SubmissionLimits
from harness.site.blind import commitment, find_hidden, private_folder, read_manifest
from harness.site.sites import open_folder
from tests.server.blind_site import CASES, GOOD, BlindSite, Climber, resealed, riddle, truth
from tests.server.served import Served, serve_here
from tests.workshop import Workshop


@pytest.fixture
def blind(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BlindSite:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return BlindSite(shop, tmp_path / "owner")


@pytest.fixture
def server(blind: BlindSite, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with serve_here(blind.root, tokens=blind.tokens, limits=SubmissionLimits(blind_per_day=20)) as running:
        monkeypatch.setenv("HATE_SITES", running.url)
        yield running


def test_the_truth_is_not_published(blind: BlindSite) -> None:
    site = open_folder(blind.root)
    index = site.test("riddle")
    assert index is not None
    release = site.release(index, index.latest)
    files = {file.path: site.store.file(file.ref) for file in release.files}
    assert files.keys() == {"riddle.hate.toml", "cases.csv", "README.md"}
    # `code` is the class in other words, and the cases of a page are of one class, so both are gone too, and so is the
    # design that names them; `weather` tells nothing.
    assert files["cases.csv"].read_text().splitlines()[0] == "id,input,weather"
    for name in ("code", "page"):
        assert f"column '{name}' tells the truth, so it is hidden too" in blind.said
    script = load_script(blind.private / "riddle@1.0" / "public" / "riddle.hate.toml")
    original = load_script(blind.source / "riddle.hate.toml")
    assert script.file.test.description == original.file.test.description
    assert script.file.test.synopsis == original.file.test.synopsis
    assert (script.file.design.stratum, script.file.design.psu) == (None, None)
    assert (script.params, len(load_cases(script, {}))) == (original.params, CASES)


def test_the_hidden_part_is_beside_the_site_and_bound_by_a_commitment(blind: BlindSite) -> None:
    assert blind.private.parent == blind.root.parent
    for folder in (blind.private, blind.private / "riddle@1.0"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    manifest = read_manifest(blind.private / "riddle@1.0")
    assert manifest.digest == load_script(blind.source / "riddle.hate.toml").digest
    # By hand, as docs/how-to/blind.md says that anyone can when the site opens the hidden part.
    promise = "sha256:" + hashlib.sha256(f"{manifest.salt}:{manifest.digest}".encode()).hexdigest()
    index = open_folder(blind.root).test("riddle")
    assert index is not None
    assert index.latest.blind == promise == commitment(manifest.salt, manifest.digest)
    assert len(manifest.salt) == 64
    # Published again, it is the same; changed, it needs a new version.
    again = blind.shop.call("publish", str(blind.source), "--blind", "--to", str(blind.root), "--format", "json")
    assert again.json["published"][0]["result"] == "already there"
    cases = blind.source / "cases.csv"
    cases.write_text(cases.read_text().replace(",true,", ",false,", 1))
    changed = blind.shop.call("publish", str(blind.source), "--blind", "--to", str(blind.root))
    assert (changed.status, "give the test a new version" in changed.err) == (2, True)


def test_a_run_elsewhere_has_answers_only(blind: BlindSite, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    blind.shop.interface(GOOD.format(every=7))
    done = blind.shop.call("run", "riddle", "--format", "json")
    assert done.status == 0, done.err
    assert done.json["rows"] == [{"params": {"threshold": 0.25}, "tests": CASES, "ER": 0, "blind": True}]
    assert "`hate submit" in done.err
    told = blind.shop.call("describe", "riddle", "--format", "json").json
    assert told["cases"] == {"total": CASES, "positive": None, "negative": None}
    assert "blind: the truth is with the site" in blind.shop.call("describe", "riddle", "--format", "table").out
    header, *records, end = blind.shop.lines(done.json["transcripts"][0])
    assert header["blind"] is True
    for record in records:
        assert record.keys() <= {"id", "actual", "seconds", "memory"}
    assert {key: end[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER")} == {
        "tests": CASES, "TP": 0, "TN": 0, "FP": 0, "FN": 0, "ER": 0,
    }  # fmt: skip
    assert records[1]["actual"] == [truth(1), 0.5]
    (listed,) = [entry for entry in blind.shop.call("list", "--transcripts", "--format", "json").json["transcripts"]
                 if entry["test"] == "riddle"]  # fmt: skip
    assert (listed["tests"], listed["rate"], listed["complete"]) == (CASES, None, True)
    assert blind.shop.call("list", "--transcripts", "--format", "table").status == 0
    # By its name, too.
    checked = blind.submit(server, blind.anna, "good", "--dry-run", monkeypatch=monkeypatch)
    assert checked.json["submitted"][0]["result"] == "would be sent"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("words", [["compare", "a.jsonl", "a.jsonl"], ["rate", "a.jsonl"], ["show", "a.jsonl"],
    ["roc", "a.jsonl"], ["confusion", "a.jsonl"], ["publish", "a.jsonl", "--to", "elsewhere"]])  # fmt: skip
def test_every_reader_says_where_the_outcomes_are(blind: BlindSite, server: Served, words: list[str]) -> None:
    blind.run("a.jsonl")
    done = blind.shop.call(*words)
    assert (done.status, done.out) == (2, ""), done.err
    assert "a.jsonl: a run of a blind test: its outcomes are with the site that judges it" in done.err.splitlines()[-1]


def test_nothing_shows_outcomes_without_a_transcript(blind: BlindSite, server: Served) -> None:
    blind.shop.interface(GOOD.format(every=7))
    for words in (
        ["test", "riddle"],
        ["run", "riddle", "--case", "asked1"],
        ["sweep", "riddle", "--param", "threshold=0,1"],
        ["roc", "riddle"],
        ["confusion", "riddle"],
    ):
        done = blind.shop.call(*words)
        assert (done.status, done.out) == (2, "")
        assert "riddle: a blind test, judged by its site" in done.err


def test_the_list_of_cases_stays_blind(blind: BlindSite, server: Served) -> None:
    done = blind.shop.call("cases", "riddle")
    assert done.status == 0
    for line in done.out.splitlines():
        case = json.loads(line)
        assert set(case) == {"id", "input", "columns"}
        assert set(case["columns"]) == {"weather"}
    refused = blind.shop.call("cases", "riddle", "--truth")
    assert (refused.status, refused.out) == (2, "")
    assert "what is true is with its site" in refused.err


def test_a_stopped_run_is_resumed(blind: BlindSite, server: Served) -> None:
    path = blind.run("a.jsonl")
    whole = [{key: value for key, value in line.items() if key != "seconds"} for line in blind.shop.lines("a.jsonl")]
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:20]))
    done = blind.shop.call("run", "riddle", "-o", "a.jsonl", "--resume")
    assert done.status == 0, done.err
    again = [{key: value for key, value in line.items() if key != "seconds"} for line in blind.shop.lines("a.jsonl")]
    assert again[1:-1] == whole[1:-1]
    assert (again[-1]["tests"], again[-1]["FN"]) == (CASES, 0)


def judged_elsewhere(blind: BlindSite, every: int, tmp_path: Path) -> dict[str, Any]:
    """The same run on the test with the truth, by the owner: what the site must come to."""
    blind.shop.interface(GOOD.format(every=every))
    done = blind.shop.call("run", str(blind.source), "-o", str(tmp_path / "open.jsonl"), "--force", "--format", "json")
    row: dict[str, Any] = done.row
    return row


def test_the_site_judges_as_a_run_with_the_truth_would(
    blind: BlindSite, server: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blind.run("good.jsonl")
    done = blind.submit(server, blind.anna, "good.jsonl", monkeypatch=monkeypatch)
    assert done.status == 0, done.err
    assert done.json["submitted"][0]["result"] == "published"
    row = judged_elsewhere(blind, 7, tmp_path)
    site = open_folder(blind.root)
    index = site.test("riddle")
    assert index is not None
    (entry,) = site.transcripts(index)
    assert {key: getattr(entry, key) for key in ("tests", "TP", "TN", "FP", "FN", "ER")} == {
        key: row[key] for key in ("tests", "TP", "TN", "FP", "FN", "ER")
    }
    assert (entry.by, entry.self_reported) == ("anna", "")
    successes = row["TP"] + row["TN"]
    assert f"'good' with {successes} of {CASES} right, {row['rate']:.4f}" in done.err
    # The interval is the one by the whole design, strata by truth included.
    low, high = row["replication"]["interval"]
    page = server.get("/tests/riddle").text
    assert f"{low:.4f} to {high:.4f}" in page
    page = server.get("/transcripts/riddle@1.0/good").text
    assert f"{low:.4f} to {high:.4f}" in page
    assert "publishes no outcome of a case" in page
    # Measures with intervals, as `hate rate` gives them to whoever has the truth.
    rates = blind.shop.call("rate", str(tmp_path / "open.jsonl"), "--format", "json").json["transcripts"][0]
    for name in ("tpr", "tnr"):
        (value,) = [measure["estimate"] for key, measure in rates["measures"].items() if key == name]
        assert re.search(rf"\({name}\)</td><td[^>]*>{value:.4f}", page), page


def test_only_a_significantly_better_score_is_shown(
    blind: BlindSite, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for name, every in (("poor", 2), ("same", 2), ("hardly", 200), ("best", 1000)):
        blind.run(f"{name}.jsonl", every=every)
        if name == "hardly":
            lines = blind.shop.lines("poor.jsonl")
            # One case better than before.
            lines[3]["actual"] = [truth(2), 0.5]
            body = "".join(json.dumps(line) + "\n" for line in lines[:-1]).encode()
            end = lines[-1] | {"sha256": hashlib.sha256(body).hexdigest()}
            blind.shop.write("hardly.jsonl", body + json.dumps(end).encode() + b"\n")
        done = blind.submit(server, blind.anna, f"{name}.jsonl", monkeypatch=monkeypatch)
        assert done.status == 0, done.err
        results.append((done.json["submitted"][0]["result"], done.err))
    assert [result for result, _ in results] == ["published", "already there", "not shown", "published"]
    assert "not significantly better (try 1, p <= 0.025 is needed): the board still shows 'poor'" in results[2][1]
    names = re.findall(r'href="/transcripts/riddle@1.0/(\w+)"', server.get("/tests/riddle").text)
    assert names == ["best", "poor"]
    # What was not shown is nowhere to be seen.
    assert server.get("/transcripts/riddle@1.0/hardly").status_code == 404


def everything(server: Served, root: Path) -> dict[str, bytes]:
    """All that the server can be made to say: every file of the site, every page, and errors."""
    pages = ["/", "/hate-site.json", "/tests/riddle", "/tests/riddle@1.0", "/transcripts/riddle@1.0/good"]
    pages += ["/transcripts/riddle@1.0/bens", "/compare/riddle@1.0?t=good&t=bens", "/compare/riddle@1.0?t=good"]
    files = [f"/{path.relative_to(root).as_posix()}" for path in root.rglob("*") if path.is_file()]
    answers = {}
    for path in [*pages, *files]:
        for encoding in ("identity", "gzip"):
            answer = server.get(path, headers={"Accept-Encoding": encoding, "Accept": "text/html"})
            answers[f"{path} {encoding} {answer.status_code}"] = answer.content
    return answers


def test_nothing_that_is_served_tells_the_outcome_of_a_case(
    blind: BlindSite, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No answer of the server mentions a case, an outcome beside an id, or a class; wherever the files are."""
    for name, token, every in (("good", blind.anna, 7), ("bens", blind.ben, 5)):
        blind.run(f"{name}.jsonl", every=every)
        assert blind.submit(server, token, f"{name}.jsonl", monkeypatch=monkeypatch).status == 0
    said = everything(server, blind.root)
    assert len([key for key in said if key.endswith("200")]) > 20
    for key, content in said.items():
        text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode(errors="replace")
        # The public table names the cases, and nothing else does.
        if "id,input,weather" not in text:
            assert not re.search(r"\basked\d+\b", text), key
        for word in ("expect", '"positive"', 'outcome"', "actual", "odd,", "even,", '"odd"', '"even"'):
            assert word not in text.replace('\\"odd\\"', "").replace("&#34;odd&#34;", ""), (key, word)
        assert "private" not in text, key
    # The folder with the truth cannot be reached by any path.
    for path in ("/../site.private/riddle@1.0/test/cases.csv", "/%2e%2e/site.private/", "/.private", "/site.private"):
        assert server.raw(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()).startswith(
            b"HTTP/1.1 404"
        )


def test_what_is_not_a_complete_blind_run_is_refused(blind: BlindSite, server: Served) -> None:
    blind.run("good.jsonl")
    address = "/transcripts/riddle@1.0/good"

    def refused(change: Any) -> str:
        lines = blind.shop.lines("good.jsonl")
        change(lines)
        answer = server.put(address, resealed(lines), blind.anna)
        assert (answer.status_code, answer.text.count("\n")) == (422, 1), answer.text
        assert str(blind.root) not in answer.text
        assert "odd" not in answer.text
        return answer.text

    assert "'asked1' is missing, or not of the test" in refused(lambda lines: lines.pop(2))
    assert "'asked0' appears twice" in refused(lambda lines: lines.insert(2, lines[1]))
    assert "is missing, or not of the test" in refused(lambda lines: lines[1].update(id="zz"))
    assert "answers only" in refused(lambda lines: lines[0].pop("blind"))
    assert "digest differs" in refused(lambda lines: lines[0]["test"].update(digest="1:" + "0" * 64))
    assert "decision parameter" in refused(lambda lines: lines[0].update(params={"threshold": "x"}))
    assert "--limit" in refused(lambda lines: lines[0].update(extent={"limit": 3}))
    # Counts without records, as the site itself publishes them.
    assert "is missing" in refused(lambda lines: lines.__delitem__(slice(1, -1)) or lines[-1].update(TP=40, TN=20))
    assert not (blind.private / "riddle@1.0" / SUBMISSIONS).exists()


def test_blind_submissions_have_a_quota_by_day(blind: BlindSite, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_here(blind.root, tokens=blind.tokens, limits=SubmissionLimits(blind_per_day=2)) as server:
        monkeypatch.setenv("HATE_SITES", server.url)
        for name, every in (("a", 2), ("b", 3)):
            blind.run(f"{name}.jsonl", every=every)
            assert blind.submit(server, blind.anna, f"{name}.jsonl", monkeypatch=monkeypatch).status == 0
        blind.run("c.jsonl", every=1000)
        third = blind.submit(server, blind.anna, "c.jsonl", monkeypatch=monkeypatch)
        assert (third.status, "2 submissions a day are allowed for anna and riddle" in third.err) == (2, True)
        assert blind.submit(server, blind.ben, "c.jsonl", monkeypatch=monkeypatch).status == 0


def test_a_server_without_the_truth_says_so(blind: BlindSite, server: Served, tmp_path: Path) -> None:
    path = blind.run("good.jsonl")
    blind.private.rename(tmp_path / "kept")
    answer = server.put("/transcripts/riddle@1.0/good", path.read_bytes(), blind.anna)
    assert (answer.status_code, "the truth of riddle is not at this server" in answer.text) == (422, True)
    elsewhere = {"private": tmp_path / "kept", "tokens": blind.tokens}
    with serve_here(blind.root, **elsewhere) as moved:
        assert moved.put("/transcripts/riddle@1.0/good", path.read_bytes(), blind.anna).status_code == 201
    done = blind.shop.call("publish", str(blind.source), "--blind", "--to", "s", "--private", "s/inside")
    assert (done.status, "inside the site's folder" in done.err) == (2, True)


def test_a_site_cannot_change_the_truth_later(blind: BlindSite, server: Served) -> None:
    path = blind.run("good.jsonl")
    table = blind.private / "riddle@1.0" / "test" / "cases.csv"
    table.write_text(table.read_text().replace("true", "false", 1))
    answer = server.put("/transcripts/riddle@1.0/good", path.read_bytes(), blind.anna)
    assert (answer.status_code, answer.text) == (
        500,
        "The site is damaged. Its owner can find the details in the log.\n",
    )
    assert any("the hidden test was changed" in line for line in server.log)


def test_names_of_a_blind_test_belong_to_someone(
    blind: BlindSite, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    blind.run("good.jsonl", every=3)
    assert blind.submit(server, blind.anna, "good.jsonl", monkeypatch=monkeypatch).status == 0
    better = blind.run("best.jsonl", every=1000).read_bytes()
    assert server.put("/transcripts/riddle@1.0/good", better, blind.ben).status_code == 409
    taken = server.put("/transcripts/riddle@1.0/good", better, blind.anna)
    assert (taken.status_code, "choose another with --name" in taken.text) == (409, True)
    # Neither was judged.
    hidden = find_hidden(blind.private, "riddle", "1.0")
    assert hidden is not None
    assert len(submissions(hidden).submissions()) == 1


def test_what_fails_after_publishing_is_not_said_to_be_unpublished(
    blind: BlindSite, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, address = blind.run("a.jsonl").read_bytes(), "/transcripts/riddle@1.0/good"

    def full(*_: object) -> None:
        raise OutputError("submissions.db: database or disk is full; make room on the disk")

    with monkeypatch.context() as patch:
        patch.setattr(Database, "add_submission", full)
        failed = server.put(address, answers, blind.anna)
    assert failed.status_code == 507
    assert "nothing was published" not in failed.text
    assert "hand in the same again later" in failed.text
    assert server.get(address).status_code == 200
    again = server.put(address, answers, blind.anna)
    assert (again.status_code, again.json()["result"]) == (200, "already there")
    hidden = find_hidden(blind.private, "riddle", "1.0")
    assert hidden is not None
    assert len(submissions(hidden).submissions()) == 1


@pytest.mark.parametrize(("keys", "text"), [
    ({"task": "score"}, ""),
    ({"glob": True}, "the names of its files are its cases"),
])  # fmt: skip
def test_what_can_be_hidden(shop: Workshop, tmp_path: Path, keys: dict[str, Any], text: str) -> None:
    folder = riddle(tmp_path / "r", task=keys.get("task", "label"))
    if "glob" in keys:
        script = folder / "riddle.hate.toml"
        (folder / "data").mkdir()
        (folder / "data" / "a-1.txt").write_text("x")
        changed = script.read_text().replace('table = "cases.csv"', 'glob = "{d}/*.txt"\npattern = "^(?P<expect>a)-"')
        script.write_text(
            changed.replace('[design]\nstratum = "truth"\npsu = "page"\n', "") + '[data.d]\npath = "data"\n'
        )
    done = shop.call("publish", str(folder), "--blind", "--to", str(tmp_path / "site"))
    assert (done.status, text in done.err) == (2 if text else 0, True), done.err
    if not text:
        # In a score test the claim is asked about; whether it is true is hidden.
        public = private_folder(tmp_path / "site") / "riddle@1.0" / "public" / "cases.csv"
        assert public.read_text().splitlines()[0] == "id,input,expect,weather"


def test_a_dry_run_hides_nothing(shop: Workshop, tmp_path: Path) -> None:
    done = shop.call("publish", str(riddle(tmp_path / "r")), "--blind", "--dry-run", "--to", str(tmp_path / "site"))
    assert done.status == 0, done.err
    assert not private_folder(tmp_path / "site").exists()


def test_the_levels_of_all_comparisons_add_up() -> None:
    assert sum(level_of(n) for n in range(1, 100_000)) == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize("tries", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_the_board_cannot_be_climbed_by_trying(tmp_path: Path, tries: int) -> None:
    """Random answers, and the attack of Blum and Hardt (2015, section 4): a vote of those that did well.

    With the scores of all submissions, the vote is far better than chance; with what the board tells, it is not.
    """
    cases, chance = 100, random.Random(7)
    climber = Climber(tmp_path, cases)
    guesses = [[chance.choice(("odd", "even")) for _ in range(cases)] for _ in range(tries)]
    moved = [climber.hand_in(guess, f"g{n}") for n, guess in enumerate(guesses)]
    scores = [sum(truth(n) == said for n, said in enumerate(guess)) / cases for guess in guesses]
    assert moved[0]
    # 95 % of such climbers see nothing but their first score; this one (seed 7) is one of them.
    assert sum(moved) == 1
    assert len(climber.shown()) == 1

    def vote(voters: list[list[str]]) -> list[str]:
        return [
            "odd" if 2 * sum(voter[n] == "odd" for voter in voters) >= len(voters) else "even" for n in range(cases)
        ]

    told = [guess for guess, up in zip(guesses, moved, strict=True) if up]
    known = [guess for guess, score in zip(guesses, scores, strict=True) if score > 0.5]
    honest, cheat = (sum(truth(n) == said for n, said in enumerate(vote(v))) / cases for v in (told, known))
    # The attack works where every score is told: that is what the board must not do.
    assert cheat > 0.5 + 2 * (0.25 / cases) ** 0.5
    assert honest == scores[0]
    assert not climber.hand_in(vote(told), "vote") or climber.shown()[-1] == scores[0]
    # Someone who really is better gets through, however many tries there were before.
    assert climber.hand_in([truth(n) for n in range(cases)], "knows")
    assert climber.shown()[-1] > climber.shown()[0]
