"""Transcripts are judged again by their test before they are believed: once, and without the network."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

import harness
from harness.errors import TranscriptError
from tests.measures.test_pixel_measures import masks as masks
from tests.rooms import of_commands_here
from tests.site.published_site import make_site, served
from tests.workshop import Record, Workshop

CASES = "\n".join(["id,input,expect,positive", *(f"c{n},x{n},{n % 3},true" for n in range(12)), ""])
RIGHT = "str(int(case.input[1:]) % 3)"
# Right in all cases but two.
NEARLY = f"'2' if case.input in ('x0', 'x4') else {RIGHT}"
MARK = "(self-reported)"


@pytest.fixture
def runs(shop: Workshop) -> Workshop:
    """The transcripts good.jsonl and poor.jsonl of a test that is at hand."""
    shop.script(rows=CASES)
    for name, answer in (("good", RIGHT), ("poor", NEARLY)):
        shop.write(f"{name}/interface.py", f"NAME = '{name}'\ndef answer(case, params):\n    return {answer}\n")
        assert shop.call("run", "toy", "--interface", f"./{name}", "-o", f"{name}.jsonl").status == 0
    return shop


def forge(shop: Workshop, name: str, target: str, **header: Record) -> str:
    """A copy that says TP wherever the original has FN, with the counts and the checksum that belong to it."""
    first, *records, end = shop.lines(name)
    first |= {key: first[key] | value for key, value in header.items()}
    records = [one | {"outcome": "TP"} if one["outcome"] == "FN" else one for one in records]
    counts = {key: sum(one["outcome"] == key for one in records) for key in ("TP", "TN", "FP", "FN")}
    body = "".join(json.dumps(one) + "\n" for one in (first, *records))
    last = end | counts | {"sha256": hashlib.sha256(body.encode()).hexdigest()}
    shop.write(target, body + json.dumps(last) + "\n")
    return target


@pytest.mark.parametrize(
    "words",
    [
        *of_commands_here({"anova forged.jsonl --by expect": ""}),
        "compare forged.jsonl good.jsonl",
        "compare good.jsonl forged.jsonl --unpaired",
        "compare forged.jsonl good.jsonl --format json",
        "rate forged.jsonl",
        "report forged.jsonl -o report.html",
        "report good.jsonl forged.jsonl -o report.md",
        "confusion forged.jsonl",
        "fuse forged.jsonl good.jsonl -o fused.jsonl",
        "diff forged.jsonl good.jsonl",
    ],
)
def test_outcomes_that_do_not_follow_from_the_answers_are_refused(words: str, runs: Workshop) -> None:
    forge(runs, "poor.jsonl", "forged.jsonl")
    done = runs.call(*words.split())
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "hate: forged.jsonl:2: case 'c0': outcome TP, but the answer '2' to the true claim '0' is FN (and 1 more); the "
        "file contradicts its test, toy 1.0, so it is not used: `hate check forged.jsonl` shows where, a new run puts "
        "it right\n"
    )
    assert not list(runs.folder.glob("report.*"))


def test_python_refuses_them_too(runs: Workshop) -> None:
    forged = forge(runs, "poor.jsonl", "forged.jsonl")
    with pytest.raises(TranscriptError, match="contradicts its test"):
        harness.compare([forged, "good.jsonl"])
    with pytest.raises(TranscriptError, match="contradicts its test"):
        harness.rate(forged)


@pytest.mark.parametrize("form", ["forged.jsonl.gz", "forged.parquet"])
def test_whatever_the_form(form: str, runs: Workshop) -> None:
    assert runs.call("convert", forge(runs, "poor.jsonl", "forged.jsonl"), form).status == 0
    done = runs.call("compare", form, "good.jsonl")
    assert done.status == 2
    assert f"{form}:2: case 'c0'" in done.err


def test_runs_that_were_judged_look_as_they_are(runs: Workshop) -> None:
    done = runs.call("compare", "good.jsonl", "poor.jsonl")
    assert "self-reported" not in done.out + done.err
    for command in ("compare", "rate"):
        found = runs.call(command, "good.jsonl", "poor.jsonl", "--format", "json").json["transcripts"]
        assert [(one["name"], one["judged"]) for one in found] == [("good", True), ("poor", True)]


def test_a_content_is_judged_once(runs: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    assert runs.call("compare", "good.jsonl", "poor.jsonl").status == 0

    def again(*_: object, **__: object) -> None:
        raise AssertionError("judged twice")

    monkeypatch.setattr("harness.site.audit.audit", again)
    # Even where the test is no longer, and under another name.
    (runs.folder / "toy/toy.hate.toml").unlink()
    (runs.folder / "poor.jsonl").rename(runs.folder / "other.jsonl")
    done = runs.call("compare", "good.jsonl", "other.jsonl")
    assert done.status == 0
    assert "self-reported" not in done.out + done.err


def test_what_was_judged_does_not_vouch_for_what_it_became(runs: Workshop) -> None:
    assert runs.call("compare", "good.jsonl", "poor.jsonl").status == 0
    forge(runs, "poor.jsonl", "poor.jsonl")
    assert runs.call("compare", "good.jsonl", "poor.jsonl").status == 2


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"\0\xff torn", b"torn 0.1.0 \n" * 3])
def test_what_is_kept_may_be_damaged(damage: bytes, runs: Workshop, tmp_path: Path) -> None:
    runs.env["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    for _ in range(2):
        assert runs.hate("rate", "good.jsonl").status == 0
        kept = tmp_path / "cache/hate/judged/verdicts"
        assert kept.read_bytes().endswith(b"\n")
        kept.write_bytes(damage)
    assert runs.hate("cache", "clear", "judged").status == 0
    assert not kept.exists()


def test_without_its_test_a_run_is_self_reported(runs: Workshop) -> None:
    forge(runs, "poor.jsonl", "forged.jsonl", test={"version": "2.0"})
    forge(runs, "good.jsonl", "fine.jsonl", test={"version": "2.0"})
    why = "the test is not here, so outcomes were not judged again"
    for command in ("compare", "rate"):
        done = runs.call(command, "forged.jsonl", "fine.jsonl")
        assert done.status == 0
        assert f"poor {MARK}" in done.out
        assert f"good {MARK}" in done.out
        assert f"poor and good are self-reported: {why}\n" in done.err
        found = runs.call(command, "forged.jsonl", "fine.jsonl", "--format", "json").json["transcripts"]
        assert [(one["name"], one["judged"]) for one in found] == [("poor", False), ("good", False)]
    assert f"poor is self-reported: {why}\n" in runs.call("confusion", "forged.jsonl").err
    for report, files in (("one.md", ["forged.jsonl"]), ("two.md", ["forged.jsonl", "fine.jsonl"])):
        assert runs.call("report", *files, "-o", report).status == 0
        assert f"self-reported: {why}" in (runs.folder / report).read_text()
    assert f"poor {MARK}" in (runs.folder / "two.md").read_text()


def test_a_test_that_was_changed_judges_nothing(runs: Workshop) -> None:
    forge(runs, "poor.jsonl", "forged.jsonl")
    runs.script(rows=CASES.replace("c0,x0,0", "c0,x0,2"))
    done = runs.call("rate", "forged.jsonl")
    assert done.status == 0
    assert f"poor {MARK}" in done.out
    assert "has another digest than the test that was run, so outcomes were not judged again" in done.err


def test_logs_of_other_tools_say_themselves_who_decided(shop: Workshop) -> None:
    for name in ("a", "b"):
        shop.write(f"{name}.csv", "id,y_true,y_pred\n1,a,a\n2,a,b\n3,b,b\n")
        assert shop.call("import", f"{name}.csv", "--test", "t", "-o", f"{name}.jsonl").status == 0
    done = shop.call("compare", "a.jsonl", "b.jsonl")
    assert done.status == 0
    assert "self-reported" not in done.out + done.err
    found = shop.call("rate", "a.jsonl", "--format", "json").json["transcripts"]
    assert [one["judged"] for one in found] == [None]


def test_a_run_that_pretends_to_be_a_log_is_none(runs: Workshop) -> None:
    forge(runs, "poor.jsonl", "forged.jsonl", interface={"kind": "import: nothing"})
    assert runs.call("compare", "forged.jsonl", "good.jsonl").status == 2


def test_masks_have_no_answers_to_judge(shop: Workshop, masks: object) -> None:
    """A run that was made here was judged here; of any other file nothing is known."""
    done = shop.call("rate", "out.jsonl")
    assert done.status == 0
    assert "self-reported" not in done.out + done.err
    done = shop.call("rate", forge(shop, "out.jsonl", "forged.jsonl"))
    assert done.status == 0
    assert MARK in done.out
    assert "self-reported: a record of a mask test has no answer to judge again\n" in done.err


def test_masks_in_another_form_are_known_as_well_as_the_first(shop: Workshop, masks: object) -> None:
    forge(shop, "out.jsonl", "forged.jsonl")
    for name, known in (("out", True), ("forged", False)):
        for source, copy in ((f"{name}.jsonl", f"{name}.parquet"), (f"{name}.parquet", f"{name}-2.jsonl.gz")):
            assert shop.call("convert", source, copy).status == 0
            assert (MARK in shop.call("rate", copy).out) is not known


def test_what_is_carried_on_vouches_for_nothing(shop: Workshop, masks: object) -> None:
    forge(shop, "out.jsonl", "forged.jsonl")
    lines = (shop.folder / "forged.jsonl").read_text().splitlines(keepends=True)
    shop.write("forged.jsonl", "".join(lines[:6]))
    assert shop.call("run", "masks/masks.hate.toml", "-o", "forged.jsonl", "--resume").status == 0
    assert MARK in shop.call("rate", "forged.jsonl").out


def test_a_test_is_known_where_it_was_run(runs: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Far from the working folder and from the transcript, and named by no library."""
    for name in ("good", "forged"):
        forge(runs, "poor.jsonl", "forged.jsonl")
        runs.write(f"../elsewhere/{name}.jsonl", (runs.folder / f"{name}.jsonl").read_text())
    monkeypatch.chdir(runs.folder.parent / "elsewhere")
    done = runs.call("rate", "good.jsonl")
    assert "self-reported" not in done.out + done.err
    assert runs.call("rate", "forged.jsonl").status == 2


def test_a_test_in_the_cache_is_at_hand(
    shop: Workshop, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(make_site(shop, tmp_path / "site")) as server:
        monkeypatch.setenv("HATE_SITES", server.url("/"))
        shop.interface("NAME = 'mine'\ndef answer(case, params):\n    return 'x0'\n")
        assert shop.call("run", "tiny", "-o", "mine.jsonl").status == 0
        server.seen.clear()
        assert MARK not in shop.call("rate", "mine.jsonl").out
        assert shop.call("rate", forge(shop, "mine.jsonl", "forged.jsonl")).status == 2
        assert not server.seen


MADE = (
    "run toy -o out.jsonl --limit 7",
    "run toy -o out.jsonl --repeat 3",
    "run toy -o out.jsonl -j 2",
    "run toy -o out.jsonl --param threshold=2",
    "run toy -o out.jsonl --isolate",
    "run toy -o out.parquet",
    "run toy -o out.jsonl.gz",
    "run toy -o out.jsonl --train-folds 2",
    "sweep toy --param threshold=0,2 -o out",
    "sweep toy --param k=1,2 -o out",
    "fuse good.jsonl poor.jsonl -o out.jsonl",
    "fuse part.jsonl part-2.jsonl -o out.jsonl",
    "convert good.jsonl out.parquet",
)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("words", MADE)
def test_whatever_this_program_made_of_a_test_is_sound(words: str, shop: Workshop) -> None:
    train = 'stratum = "truth"\npsu = "writer"\n[train]\ntable = "train.csv"'
    rows = [f"c{n},x{n},{n % 3},{'true' if n % 4 else 'false'},{n % 3},w{n}" for n in range(12)]
    head = "id,input,expect,positive,truth,writer"
    shop.script(rows="\n".join([head, *rows, ""]), sections=f"[design]\n{train}")
    shop.write("toy/train.csv", "\n".join([head, *(f"t{row}" for row in rows), ""]))
    for name, answer in (("good", f"{RIGHT}, 3.0"), ("poor", f"{NEARLY}, 1.0")):
        text = f"NAME = '{name}'\nPARAMS = {{'k': 1}}\ndef train(cases, params):\n    list(cases)\n"
        shop.interface(f"{text}def answer(case, params):\n    return {answer}\n")
        assert shop.call("run", "toy", "-o", f"{name}.jsonl").status == 0
        part = {"good": "part.jsonl", "poor": "part-2.jsonl"}[name]
        assert shop.call("run", "toy", "-o", part, "--limit", "6").status == 0
    done = shop.call(*words.split())
    assert done.status == 0, done.err
    made = [path for path in shop.folder.rglob("out*") if path.is_file()] + list(shop.folder.glob("out/*.jsonl"))
    assert made
    for path in made:
        found = shop.call("rate", path, "--format", "json")
        assert found.status == 0, found.err
        assert found.json["transcripts"][0]["judged"] is True


def test_a_test_is_found_where_it_was_run_before(shop: Workshop, tmp_path: Path) -> None:
    """Its latest place may be gone, with the folder that it was copied to."""
    folder = shop.script(rows=CASES).parent
    for copy in ("a", "b"):
        shutil.copytree(folder, tmp_path / "away" / copy)
    shutil.rmtree(folder)
    shop.interface(f"def answer(case, params):\n    return {RIGHT}\n")
    for copy in ("a", "b"):
        assert shop.call("run", tmp_path / "away" / copy / "toy.hate.toml", "-o", f"{copy}.jsonl").status == 0
    shutil.rmtree(tmp_path / "away/b")
    # Another content, so that nothing is known of it yet.
    lines = (shop.folder / "a.jsonl").read_text().splitlines(keepends=True)
    header = json.loads(lines[0]) | {"started": "2026-01-01T00:00:00Z"}
    body = json.dumps(header) + "\n" + "".join(lines[1:-1])
    last = json.loads(lines[-1]) | {"sha256": hashlib.sha256(body.encode()).hexdigest()}
    shop.write("elsewhere/c.jsonl", body + json.dumps(last) + "\n")
    done = shop.call("rate", "elsewhere/c.jsonl")
    assert (done.status, MARK in done.out + done.err) == (0, False), done.out + done.err
