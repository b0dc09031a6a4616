"""Scores of two identities each: no command takes them for independent without a word, and --subjects is honoured."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.stats.curves.scores import make_scored_cases
from harness.stats.curves.two_way import Subjects, two_way_bands
from tests.analysis.transcripts import transcript
from tests.workshop import Workshop

PEOPLE = [f"p{i}" for i in range(14)]
FIRST = [a for a in PEOPLE for _ in PEOPLE]
SECOND = [b for _ in PEOPLE for b in PEOPLE]
GENUINE = np.array([a == b for a, b in zip(FIRST, SECOND, strict=True)])


def matrix_run(
    shop: Workshop, name: str, seed: int, names: tuple[str, str] = ("claimed", "real"), **design: list[str]
) -> tuple[Path, np.ndarray[Any, np.dtype[np.float64]]]:
    """Everybody compared with everybody: a person raises or lowers all of their scores."""
    rng = np.random.default_rng(seed)
    person = dict(zip(PEOPLE, rng.normal(size=len(PEOPLE)), strict=True))
    scores = (
        rng.normal(size=GENUINE.size)
        + 2 * GENUINE
        + [person[a] + person[b] for a, b in zip(FIRST, SECOND, strict=True)]
    )
    columns = [dict(zip(names, pair, strict=True)) for pair in zip(FIRST, SECOND, strict=True)]
    path = transcript(
        shop.folder / f"{name}.jsonl", (scores > 1) == GENUINE, positive=GENUINE.tolist(), test={"task": "score"},
        score=scores.tolist(), columns=columns, design=design,
    )  # fmt: skip
    return path, scores


@pytest.mark.sampled(4)
@pytest.mark.parametrize("command", ["rate", "compare", "roc", "det", "pr", "power"])
@pytest.mark.parametrize("names", [("claimed", "real"), ("probe", "gallery")])
def test_the_pair_of_both_identities_is_no_unit(shop: Workshop, command: str, names: tuple[str, str]) -> None:
    paths = [str(matrix_run(shop, name, seed, names)[0]) for seed, name in enumerate("ab")]
    runs = paths if command in ("compare", "power") else paths[:1]
    done = shop.call(command, *runs, "--psu", ",".join(reversed(names)))
    assert done.status == 2
    assert f"--psu {','.join(names)}: the pair of both identities is no unit" in done.err
    assert f"--subjects {','.join(names)}" in done.err
    assert len(done.err.splitlines()) == 1
    assert (
        shop.call(command, *runs, "--psu", names[0], *(["--difference", "0.1"] if command == "power" else [])).status
        == 0
    )


def test_a_recorded_pair_is_refused_and_subjects_go_round_it(shop: Workshop) -> None:
    path, _ = matrix_run(shop, "a", 1, psu=["claimed", "real"])
    header, *records = [json.loads(line) for line in path.read_text().splitlines()][:-1]
    paired = [one | {"psu": " x ".join(one["columns"].values())} for one in records]
    lines = [json.dumps(one) for one in (header, *paired)]
    path.write_text("\n".join(lines) + "\n")
    done = shop.call("rate", str(path), "--partial")
    assert (done.status, "recorded PSU claimed,real: the pair" in done.err) == (2, True)
    assert shop.call("roc", str(path), "--partial", "--subjects", "claimed,real").status == 0


def test_lists_of_scores_and_trials_are_not_imported_with_pairs_as_units(shop: Workshop) -> None:
    four = shop.write("four.txt", "a a x 1\na b y 0\nb a x 0\nb b y 1\n")
    trials = shop.write("trials.txt", "m s target 1\nm t nontarget 0\nn s nontarget 0\nn t target 1\n")
    for path, names in ((four, "claimed,real"), (trials, "model,segment")):
        done = shop.call("import", path, "--success-at", "0.5", "--psu", names, "-o", "out.jsonl")
        assert (done.status, f"--psu {names}: the pair" in done.err) == (2, True)
        assert not (shop.folder / "out.jsonl").exists()


def test_other_pairs_of_columns_may_be_units(shop: Workshop) -> None:
    columns = [{"site": f"s{i % 3}", "patient": f"{i // 3}"} for i in range(60)]
    good = [i % 4 != 0 for i in range(60)]
    path = transcript(shop.folder / "a.jsonl", good, positive=[i % 2 == 0 for i in range(60)], columns=columns)
    assert shop.call("rate", str(path), "--psu", "site,patient").status == 0


def test_outputs_name_the_identities_and_the_option(shop: Workshop) -> None:
    paths = [str(matrix_run(shop, name, seed)[0]) for seed, name in enumerate("ab")]
    for words in (("rate", paths[0]), ("compare", *paths), ("compare", *paths, "--statistic", "eer")):
        said = shop.call(*words).out
        assert "Each case compares two identities, claimed and real." in said
        assert "--subjects claimed,real" in said
        assert "No stratum and no PSU" not in said
    assert "scores that share a claimed or a real are alike" in shop.call("roc", paths[0]).out
    assert "for new claimed identities" in shop.call("compare", *paths, "--psu", "claimed").out
    for more in (("--psu", "claimed"), ("--subjects", "claimed,real")):
        assert "are taken as independent" not in shop.call("roc", paths[0], *more).out


@pytest.mark.parametrize("command", ["roc", "det", "pr"])
def test_a_rate_at_a_threshold_is_for_new_subjects_on_both_sides(shop: Workshop, command: str) -> None:
    path, scores = matrix_run(shop, "a", 3)
    words = (command, str(path), "--at", "threshold=1", "--format", "json")
    found = shop.call(*words, "--subjects", "claimed,real").json["curves"][0]["operating"][0]
    bands = two_way_bands(make_scored_cases(scores, GENUINE), Subjects.of(FIRST, SECOND))
    # The point of the curve with the lowest threshold that refuses nobody at 1 or above.
    place = int(np.flatnonzero(bands.threshold >= 1).max())
    assert found["method"] == "two-way"
    assert found["interval"] == pytest.approx([1 - bands.tpr.high[place], 1 - bands.tpr.low[place]])
    assert found["interval"] != pytest.approx(shop.call(*words).json["curves"][0]["operating"][0]["interval"], rel=1e-3)


def test_mcnemars_test_is_not_told_about_another_measure(shop: Workshop) -> None:
    paths = [str(matrix_run(shop, name, seed)[0]) for seed, name in enumerate("abc")]
    said = shop.call("compare", *paths, "--statistic", "eer").out
    for words in ("superior", "equivalent results", "Z score", "p exact", "Cochran", "Believe"):
        assert words not in said
    rates = shop.call("compare", *paths).out
    for words in ("equivalent results", "Z score", "p exact", "Cochran"):
        assert words in rates
    page = shop.folder / "page.html"
    assert shop.call("report", *paths, "--statistic", "eer", "-o", str(page)).status == 0
    assert "equivalent results" not in page.read_text()
