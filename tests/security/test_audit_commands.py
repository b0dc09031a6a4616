"""Invented results, at every door: `check`, `publish`, `serve`; what cannot be judged again is marked everywhere."""

import gzip
import json
from pathlib import Path

import msgspec
import pytest

from harness.files.digest import file_sha256
from harness.script.load import load_script
from harness.server.database import Database
from harness.server.submissions import SubmissionLimits
from harness.site import publish_candidates
from harness.site.layout import FORMAT, Ref, Release, ReleaseFile, TranscriptEntry
from harness.site.publish import publish
from harness.site.publish_candidates import read_test_candidate, read_transcript_candidate
from harness.site.sites import open_folder
from tests.security.forging import Lines, all_right, forge, read_lines, write_lines
from tests.server.served import serve_here
from tests.workshop import Workshop

THREE = "def answer(case, params):\n    return 'x2'\n"


def entry(site: Path, name: str) -> TranscriptEntry:
    catalogue = open_folder(site)
    index = catalogue.test("toy")
    assert index is not None
    entry = catalogue.transcript(index, name)
    assert entry is not None
    return entry


def with_answers(lines: Lines) -> None:
    """Answers that fit the outcomes."""
    for record in lines[1:]:
        record["actual"] = record["expect"] if record["positive"] else "something else"


@pytest.fixture
def forged(shop: Workshop) -> Path:
    """An honest run in three.jsonl, of which TP are 1 of 3, and the same with nothing but successes."""
    shop.script()
    shop.interface(THREE)
    shop.run(output="three.jsonl")
    return forge(shop.folder / "three.jsonl", shop.folder / "forged.jsonl", all_right)


def test_check_finds_the_test_and_judges_by_it(shop: Workshop, forged: Path) -> None:
    assert (
        shop.call("check", "three.jsonl").out == "three.jsonl: a valid transcript: toy, work, 6 records, judged again\n"
    )
    done = shop.call("check", "forged.jsonl")
    assert done.status == 1
    assert done.out == (
        "forged.jsonl:2: case 'c0': outcome TP, but the answer 'x2' to the true claim 'x0' is FN\n"
        "  forged.jsonl:6: case 'c4': outcome TP, but the answer 'x2' to the true claim 'x4' is FN\n"
    )


def test_check_without_the_test_says_so(shop: Workshop, forged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It still finds what contradicts itself."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(shop.folder / "cache"))  # another test may have fetched a `toy`
    (shop.folder / "toy").rename(shop.folder / "away.hidden")
    (shop.folder / "away.hidden" / "toy.hate.toml").rename(shop.folder / "away.hidden" / "toy.txt")
    done = shop.call("check", "three.jsonl")
    assert done.status == 0
    assert done.out.splitlines() == [
        "three.jsonl: a valid transcript: toy, work, 6 records",
        "three.jsonl: self-reported: the test is not here, so outcomes were not judged again",
    ]
    assert shop.call("check", "forged.jsonl").status == 1
    # Answers invented together with the outcomes are found only with the test.
    invented = forge(forged, shop.folder / "better.jsonl", with_answers)
    assert shop.call("check", invented.name).status == 0


def test_check_with_another_version_of_the_test(shop: Workshop, forged: Path) -> None:
    cases = shop.folder / "toy" / "cases.csv"
    cases.write_text(cases.read_text(encoding="utf-8").replace("c0,x0,x0", "c0,x0,x2"), encoding="utf-8")
    said = shop.call("check", "three.jsonl").out.splitlines()[1]
    assert said.endswith(
        "toy.hate.toml has another digest than the test that was run, so outcomes were not judged again"
    )


def test_check_finds_the_test_beside_the_transcript(
    shop: Workshop, forged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = shop.folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert shop.call("check", "../three.jsonl").out.endswith("6 records, judged again\n")
    assert shop.call("check", "../forged.jsonl").status == 1


def test_check_finds_the_test_at_a_site(shop: Workshop, forged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(shop.folder / "site", [read_test_candidate(shop.folder / "toy")])
    empty = shop.folder / "empty"
    empty.mkdir()
    for name in ("three.jsonl", "forged.jsonl"):
        (shop.folder / name).rename(empty / name)
    monkeypatch.chdir(empty)
    # Neither where it was run, nor in the cache.
    (shop.folder / "toy/toy.hate.toml").unlink()
    monkeypatch.setenv("XDG_CACHE_HOME", str(shop.folder / "cache"))
    assert "self-reported" in shop.call("check", "three.jsonl").out
    monkeypatch.setenv("HATE_SITES", str(shop.folder / "site"))
    assert shop.call("check", "three.jsonl").out.endswith("6 records, judged again\n")
    assert shop.call("check", "forged.jsonl").status == 1


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("together", [False, True])
def test_publish_refuses_invented_outcomes(shop: Workshop, forged: Path, *, packed: bool, together: bool) -> None:
    """Nothing of the change is published, whether the test is published already or comes with it."""
    if packed:
        (shop.folder / "forged.jsonl.gz").write_bytes(gzip.compress(forged.read_bytes()))
    name = "forged.jsonl.gz" if packed else "forged.jsonl"
    if not together:
        assert shop.call("publish", "toy", "--to", "site").status == 0
    done = shop.call("publish", *(["toy"] if together else []), "three.jsonl", name, "--to", "site")
    assert done.status == 2
    assert done.err.startswith(
        f"hate: {name}:2: case 'c0': outcome TP, but the answer 'x2' to the true claim 'x0' is FN\n"
    )
    assert not list((shop.folder / "site").rglob("*forged*"))
    dry = shop.call("publish", *(["toy"] if together else []), name, "--to", "site", "--dry-run")
    assert (dry.status, dry.err) == (2, done.err)
    assert shop.call("publish", "toy", "three.jsonl", "--to", "site").status == 0
    assert entry(shop.folder / "site", "three").self_reported == ""


def test_a_server_refuses_invented_outcomes(shop: Workshop, forged: Path) -> None:
    site = shop.folder / "site"
    publish(site, [read_test_candidate(shop.folder / "toy")])
    token = Database(shop.folder / "tokens").add_token("anna")
    with serve_here(site, tokens=shop.folder / "tokens") as served:
        answer = served.put("/transcripts/toy@1.0/best", forged.read_bytes(), token)
        assert answer.status_code == 422
        assert answer.text.strip() == "best:2: case 'c0': outcome TP, but the answer 'x2' to the true claim 'x0' is FN"
        honest = (shop.folder / "three.jsonl").read_bytes()
        assert served.put("/transcripts/toy@1.0/three", honest, token).status_code == 201
        page = served.get("/tests/toy@1.0").text
        assert "best" not in page
        # Judged again, but not kept apart from the judge.
        assert "self-reported" not in page
        assert "† the algorithm ran in the harness's own process" in page
        page = served.get("/transcripts/toy@1.0/three").text
        assert "judged again by this site" in page
        assert "none: the algorithm ran in the harness's own process" in page


def test_a_server_can_insist_on_isolation(shop: Workshop, forged: Path) -> None:
    site = shop.folder / "site"
    publish(site, [read_test_candidate(shop.folder / "toy")])
    token = Database(shop.folder / "tokens").add_token("anna")
    shop.run("--isolate", output="apart.jsonl")
    limits = SubmissionLimits(isolated=True)
    with serve_here(site, tokens=shop.folder / "tokens", limits=limits) as served:
        answer = served.put("/transcripts/toy@1.0/three", (shop.folder / "three.jsonl").read_bytes(), token)
        assert answer.status_code == 422
        assert "run it with --isolate to share it" in answer.text
        data = (shop.folder / "apart.jsonl").read_bytes()
        assert served.put("/transcripts/toy@1.0/apart", data, token).status_code == 201
        assert "†" not in served.get("/tests/toy@1.0").text


def test_saying_blind_does_not_help(shop: Workshop, forged: Path) -> None:
    """A header that claims that its outcomes are with the server gets no outcomes of its own published."""
    told = forge(forged, shop.folder / "told.jsonl", lambda lines: lines[0].update(blind=True))
    assert shop.call("publish", "toy", "--to", "site").status == 0
    done = shop.call("publish", told, "--to", "site")
    assert done.status == 2
    assert len(done.err.splitlines()) == 1
    assert shop.call("check", "told.jsonl").status == 1


GLOB = """\
format = 1
[test]
name = "toy"
version = "1.0"
synopsis = "cases are the names of files"
task = "label"
[data.images]
url = "http://127.0.0.1:9/images.zip"
sha256 = "{sha256}"
unpack = true
[cases]
glob = "{{images}}/*.txt"
pattern = '(?P<expect>[a-z]+)-(?P<id>[0-9]+)\\.txt$'
"""


def test_what_cannot_be_judged_is_marked(shop: Workshop) -> None:
    """The cases of this test are in data that is on no machine here: its results are taken as they are told."""
    path = shop.write("toy/toy.hate.toml", GLOB.format(sha256="0" * 64))
    script = load_script(path)
    ref = Ref(file_sha256(path), path.stat().st_size)
    release = Release(
        "release", FORMAT, "toy", "1.0", script.digest, path.name, [ReleaseFile(path.name, ref.sha256, ref.bytes)]
    )
    site = shop.folder / "site"
    publish(site, [publish_candidates.TestCandidate(release, "", "label", 2, {ref: path})])
    test = {"name": "toy", "version": "1.0", "digest": script.digest, "task": "label", "cases": 2}
    header = {"hate": "transcript", "format": 1, "test": test, "algorithm": {"name": "a"}, "params": {"threshold": 0}}
    records = [{"id": str(n), "outcome": "TP", "positive": True, "expect": "a", "actual": "a"} for n in range(2)]
    told = write_lines(shop.folder / "told.jsonl", [header, *records])
    done = shop.call("publish", told, "--to", "site")
    assert done.status == 0, done.err
    assert "self-reported: its cases are in data that is not here, so outcomes were not judged again" in done.err
    assert entry(site, "told").self_reported.startswith("its cases are in data that is not here")
    with serve_here(site) as served:
        assert "* self-reported: outcomes were not judged again by this site" in served.get("/tests/toy@1.0").text
        assert "self-reported: its cases are in data" in served.get("/transcripts/toy@1.0/told").text
    # What contradicts itself is refused nevertheless.
    lie = forge(told, shop.folder / "lie.jsonl", lambda lines: lines[2].update(actual="b"))
    assert shop.call("publish", lie, "--to", "site").status == 2


def test_entries_of_older_sites_are_self_reported(shop: Workshop, forged: Path) -> None:
    """They were published unjudged, and an index says nothing about it."""
    site = shop.folder / "site"
    publish(site, [read_test_candidate(shop.folder / "toy"), read_transcript_candidate(shop.folder / "three.jsonl")])
    known = msgspec.to_builtins(entry(site, "three"))
    del known["self_reported"], known["isolation"]
    old = msgspec.convert(known, TranscriptEntry)
    assert old.self_reported == "it was published when outcomes were not judged again"
    assert old.isolation == ""


def test_imported_results_are_self_reported(shop: Workshop) -> None:
    shop.write("results.csv", "id,y_true,y_pred\n1,a,a\n2,a,b\n")
    assert shop.call("import", "results.csv", "-o", "out.jsonl").status == 0
    done = shop.call("check", "out.jsonl")
    assert done.status == 0, done.out
    assert done.out.splitlines()[1] == (
        "out.jsonl: self-reported: the test is not here, so outcomes were not judged again"
    )


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("expect", "z", "on expect of case 'c2': 'x2' and 'z'"),
        ("stratum", "t", "on stratum of case 'c2': 's' and 't'"),
        ("psu", "q", "on psu of case 'c2': 'p2' and 'q'"),
        ("positive", False, "on positive of case 'c2': 'true' and 'false'"),
    ],
)
def test_compare_refuses_runs_that_disagree(shop: Workshop, forged: Path, key: str, value: object, words: str) -> None:
    """Facts about a case come from the first run: the order of the files must not change them."""

    def with_design(lines: Lines) -> None:
        lines[0]["test"]["digest"] = "1:00"  # the test would refuse each of them by itself
        for number, one in enumerate(lines[1:]):
            one |= {"stratum": "s", "psu": f"p{number}"}

    def other(lines: Lines) -> None:
        with_design(lines)
        lines[3][key] = value
        if key == "positive":
            lines[3]["outcome"] = "TN"

    source = shop.folder / "three.jsonl"
    forge(source, shop.folder / "a.jsonl", with_design)
    forge(source, shop.folder / "b.jsonl", other)
    forge(source, shop.folder / "c.jsonl", with_design)
    assert shop.call("compare", "a.jsonl", "c.jsonl").status == 0
    # Without groups, the claims are not even read: what is compared does not depend on them.
    groups = ["--by", "truth"] if key == "expect" else []
    done = shop.call("compare", "a.jsonl", "c.jsonl", "b.jsonl", *groups)
    assert done.status == 2
    assert f"hate: a.jsonl and b.jsonl disagree {words}; " in done.err
    # A run that does not say is not contradicted.
    lines = read_lines(shop.folder / "b.jsonl")[:-1]
    if key != "positive":
        del lines[3][key]
        write_lines(shop.folder / "b.jsonl", lines)
        assert shop.call("compare", "a.jsonl", "b.jsonl").status == 0


def test_runs_in_another_order_agree(shop: Workshop, forged: Path) -> None:
    header, *records = read_lines(shop.folder / "three.jsonl")[:-1]
    write_lines(shop.folder / "back.jsonl", [header, *reversed(records)])
    done = shop.call("compare", "three.jsonl", "back.jsonl", "--format", "json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["pairs"][0]["n_sf"] == 0
