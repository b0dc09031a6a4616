"""`hate compare` on the command line: every format, hostile names, exit statuses, typed tables."""

import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from statsmodels.stats.contingency_tables import mcnemar

from harness.bundled import bundled
from harness.site.find_transcripts import KnownTranscripts
from tests.analysis.transcripts import clustered, figure_5, transcript
from tests.site.run_files import write_run
from tests.workshop import Workshop

PAIR_KEYS = {
    "a", "b", "n_ff", "n_sf", "n_fs", "n_ss", "z", "p_chi2", "p_exact", "p_mid", "p_one_sided", "p_adjusted",
    "confidence_differ", "confidence_better", "better", "difference", "interval", "replication",
}  # fmt: skip
REPLICATION_KEYS = {
    "method", "target", "stratum", "psu", "strata", "units", "replicates", "groupings", "collapsed", "fay", "seed",
    "estimate", "se", "df", "interval", "p_value", "p_adjusted", "p_sign_flip", "design_effect", "icc",
}  # fmt: skip
HOSTILE = "\x1b[31m$(x)_%&#{}^~\\input{x}|=1+1<b>"


def test_json_has_the_promised_names(shop: Workshop) -> None:
    paths = clustered(shop.folder, 1, strata=5, units=3, size=2)
    found = shop.call("compare", *paths, "--format", "json").json
    assert {"test", "transcripts", "better", "cochran_q", "groups", "pairs", "multiplicity"} <= set(found)
    assert set(found["pairs"][0]) >= PAIR_KEYS
    assert set(found["pairs"][0]["replication"]) >= REPLICATION_KEYS
    assert set(found["transcripts"][0]) >= {"name", "tests", "TP", "TN", "FP", "FN", "ER", "rate", "interval"}
    assert found["pairs"][0]["replication"]["target"] == "these strata, new us"


@pytest.mark.parametrize("style", ["table", "plain", "csv", "tex", "md"])
def test_every_format_has_the_figures(shop: Workshop, style: str) -> None:
    done = shop.call("compare", *figure_5(shop.folder), "--format", style)
    assert done.status == 0
    for figure in ("1254", "1124", "130"):
        assert figure in done.out


def test_text_has_the_tutorials_lines_and_a_verdict(shop: Workshop) -> None:
    out = " ".join(shop.call("compare", *figure_5(shop.folder), "--format", "plain").out.split())
    assert "Z score is 28.335" in out
    assert "99% confident that wisard and witch do not give equivalent results" in out
    assert "99.5% confident that wisard was superior to witch" in out
    assert "wisard is better than witch by" in out
    assert "No stratum and no PSU: cases are taken as independent" in out


@pytest.mark.parametrize("style", ["table", "plain", "csv", "md", "tex"])
def test_names_from_transcripts_are_harmless(shop: Workshop, style: str) -> None:
    paths = [
        transcript(shop.folder / f"{n}.jsonl", [n == 0, True, False], name=f"{HOSTILE}{n}", stratum=[HOSTILE] * 3)
        for n in range(2)
    ]
    out = shop.call("compare", *paths, "--format", style).out
    assert "\x1b" not in out
    if style == "tex":
        assert "\\input{" not in out
    if style == "md":
        assert "<b>" not in out


def test_tex_compiles(shop: Workshop) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex on this machine")
    paths = [transcript(shop.folder / f"{n}.jsonl", [n == 0, True, False], name=f"{HOSTILE}{n}") for n in range(2)]
    tex = shop.call("compare", *paths, "--format", "tex").out
    page = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n" + tex + "\\end{document}\n"
    shop.write("page.tex", page)
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"], cwd=shop.folder, capture_output=True
    )
    assert run.returncode == 0, run.stdout[-2000:]


def test_fail_if_worse_is_about_the_first(shop: Workshop) -> None:
    good = transcript(shop.folder / "good.jsonl", [True] * 60)
    bad = transcript(shop.folder / "bad.jsonl", [i % 2 == 0 for i in range(60)])
    assert shop.call("compare", good, bad, "--fail-if-worse").status == 0
    assert shop.call("compare", bad, good, "--fail-if-worse").status == 1
    assert shop.call("compare", bad, good).status == 0
    assert shop.call("compare", good, good, "--fail-if-worse").status == 0


@pytest.mark.slow
def test_a_hundred_transcripts_stay_readable(shop: Workshop) -> None:
    paths = [
        transcript(shop.folder / f"a{n:03d}.jsonl", [(i * 7919 + n * 31) % 997 < 500 + 4 * n for i in range(500)])
        for n in range(100)
    ]
    done = shop.call("compare", *paths, "--format", "plain")
    assert done.status == 0
    assert len(done.out.splitlines()) < 130
    assert "4,950 pairs" in done.out
    assert len(shop.call("compare", *paths, "--format", "json").json["pairs"]) == 4950
    alone = shop.call("compare", *paths, "--baseline", "a050", "--format", "json").json
    assert len(alone["pairs"]) == 99


@pytest.mark.parametrize(
    ("words", "baseline"),
    [
        (["hdigits/wisard", "hdigits/witch", "warlock"], "hdigits/witch"),
        (["hdigits/wisard", "hdigits/witch", "warlock"], "witch"),
        (["wisard", "witch.out", "warlock"], "witch.out"),
        (["wisard", "a.jsonl", "warlock"], "a.jsonl"),
    ],
)
def test_a_baseline_is_named_as_it_is_shown_or_as_it_was_typed(shop: Workshop, words: list[str], baseline: str) -> None:
    shop.write("a.jsonl", (bundled("transcripts") / "hdigits" / "witch.jsonl").read_bytes())
    found = shop.call("compare", *words, "--baseline", baseline, "--format", "json").json
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [("wisard", "witch"), ("witch", "warlock")]


def test_a_name_that_is_shown_goes_before_one_that_was_typed(shop: Workshop) -> None:
    write_run(shop, "toy/a.jsonl", "toy/b.jsonl")
    write_run(shop, "toy/b.jsonl", "b")
    write_run(shop, "toy/c.jsonl", "c")
    words = ("toy/a.jsonl", "toy/b.jsonl", "toy/c.jsonl", "--baseline", "toy/b.jsonl")
    pairs = shop.call("compare", *words, "--format", "json").json["pairs"]
    assert [(pair["a"], pair["b"]) for pair in pairs] == [("toy/b.jsonl", "b"), ("toy/b.jsonl", "c")]


def test_published_transcripts_are_compared_by_name(shop: Workshop) -> None:
    found = shop.call("compare", "wisard", "hdigits/witch", "--format", "json").json
    assert [run["name"] for run in found["transcripts"]] == ["wisard", "witch"]
    assert found["pairs"][0]["replication"]["target"] == "these strata, new images"


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (["a.jsonl"], "a.jsonl: one transcript is not a comparison; `hate rate` looks at one by itself"),
        (["a.jsonl", "gone.jsonl"], "gone.jsonl"),
        (["a.jsonl", "b.jsonl", "--stratum", "nowhere"], "nowhere"),
        (["a.jsonl", "b.jsonl", "--baseline", "c"], "c"),
        (["a.jsonl", "b.jsonl", "--method", "magic"], "magic"),
        (["a.jsonl", "b.jsonl", "--multiplicity", "tukey"], "tukey"),
        (["a.jsonl", "b.jsonl", "--confidence", "2"], "2"),
    ],
)
def test_mistakes_are_one_line(shop: Workshop, words: list[str], culprit: str) -> None:
    for name in "ab":
        transcript(shop.folder / f"{name}.jsonl", [True, False])
    done = shop.call("compare", *words)
    assert done.status == 2
    assert culprit in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_the_same_input_gives_the_same_output(shop: Workshop) -> None:
    paths = clustered(shop.folder, 9, strata=4, units=5, size=2)
    first = shop.call("compare", *paths, "--method", "bootstrap", "--seed", "7", "--format", "json").out
    assert first == shop.call("compare", *paths, "--method", "bootstrap", "--seed", "7", "--format", "json").out
    assert json.loads(first)["pairs"][0]["replication"]["seed"] == 7


def test_figures_do_not_depend_on_the_order_of_records(shop: Workshop) -> None:
    a, b = clustered(shop.folder, 10, strata=4, units=5, size=2)
    first, *records, _ = b.read_text().splitlines()
    shuffled = Path(shop.folder / "c.jsonl")
    shuffled.write_text("\n".join([first, *records[::-1]]) + "\n")
    one = shop.call("compare", a, b, "--partial", "--format", "json").json["pairs"][0]
    other = shop.call("compare", a, shuffled, "--partial", "--format", "json").json["pairs"][0]
    for key in ("n_sf", "n_fs", "p_exact", "difference"):
        assert one[key] == other[key]
    assert one["replication"]["se"] == pytest.approx(other["replication"]["se"], rel=1e-12)


def test_a_typed_table_is_compared_like_transcripts(shop: Workshop) -> None:
    found = shop.call("compare", "--table", "58", "31", "9", "902", "--format", "json").json
    (pair,) = found["pairs"]
    assert [pair[name] for name in ("n_ff", "n_sf", "n_fs", "n_ss")] == [58, 31, 9, 902]
    assert pair["p_exact"] == pytest.approx(mcnemar([[58, 31], [9, 902]], exact=True).pvalue)
    assert pair["z"] == pytest.approx(mcnemar([[58, 31], [9, 902]], exact=False).statistic ** 0.5)
    assert [one["name"] for one in found["transcripts"]] == ["A", "B"]


def test_options_apply_to_a_typed_table(shop: Workshop) -> None:
    found = shop.call("compare", "--table", "5", "1", "1", "93", "--margin", "0.1").out
    assert "typed table: 2 transcripts, 100 cases" in found
    assert shop.call("compare", "--table", "0", "1", "31", "0", "--fail-if-worse").status == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["58", "31", "9"], "3 numbers; expected four"),
        (["58", "31", "9", "x"], "'x' is not a count of cases"),
        (["58", "31", "9", "-1"], "No such option"),
        (["0", "0", "0", "0"], "0 cases"),
        (["9" * 30, "0", "0", "0"], "expected 1 to 10,000,000"),
    ],
)
def test_mistakes_in_a_typed_table_are_a_line(shop: Workshop, words: list[str], message: str) -> None:
    done = shop.call("compare", "--table", *words)
    assert done.status == 2
    assert message.lower() in done.err.lower()


def test_the_baseline_of_the_test_is_told_by_what_counts_there(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the weights of its design, as it would be compared: 1 and 1/4 in two strata."""
    strata, design = ["a", "a", "b", "b", "b", "b"], {"stratum": "s", "weights": "equal"}
    known = [SimpleNamespace(name="toy", baseline="strawman")]
    monkeypatch.setattr("harness.script.library.find_all", lambda: known)
    published = shop.folder / "strawman.jsonl"
    monkeypatch.setattr(KnownTranscripts, "published", lambda _, name: SimpleNamespace(path=published))
    for name in ("strawman", "a", "b"):
        transcript(shop.folder / f"{name}.jsonl", [True] * 3 + [False] * 3, design=design, stratum=strata)
    done = shop.call("compare", shop.folder / "a.jsonl", shop.folder / "b.jsonl")
    assert "the test's baseline, strawman, has a rate of 0.6250; add toy/strawman to compare" in done.err
