"""`hate urn` on the command line, with transcripts and matrices."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from tests.lab.weather import Weather, write_weather
from tests.matrices.virtual import people_matrix, write_matrix
from tests.workshop import Workshop

QUICK = ("--permutations", "99", "--format", "json")


@pytest.fixture(scope="module")
def recaptures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    drawn = Weather().draw(2)
    return write_weather(
        tmp_path_factory.mktemp("weather") / "w.jsonl",
        drawn,
        day=[f"d{time // 10}" for time in drawn.time.tolist()],
        camera=[f"k{number % 3}" for number in range(drawn.time.size)],
    )


@pytest.fixture
def weather(shop: Workshop, recaptures: Path) -> Workshop:
    shutil.copy(recaptures, shop.folder)
    return shop


def test_the_three_steps_each_name_the_next(weather: Workshop) -> None:
    first = weather.call("urn", "w.jsonl", "--group", "subject", "--trial", "time", *QUICK).json
    assert first["rows"][0]["compatible"] == []
    assert first["rows"][0]["ratios"]["st"] > 2
    assert (first["next"]["action"], first["next"]["column"]) == ("shuffle", "time")
    assert first["next"]["share"] > 0.8
    second = weather.call("urn", "w.jsonl", "--group", "subject", "--trial", "time", "--shuffle", "time", *QUICK).json
    assert second["rows"][0]["ratios"]["st"] < 1
    assert "st" not in second["rows"][0]["compatible"]
    assert (second["next"]["action"], second["next"]["column"]) == ("group", "image")
    third = weather.call("urn", "w.jsonl", "--group", "image", "--trial", "time", "--shuffle", "time", *QUICK).json
    assert "st" in third["rows"][0]["compatible"]
    assert "cl" not in third["rows"][0]["compatible"]
    assert third["next"] is None
    assert third["elements"] == 4
    fresh = weather.call("urn", "w.jsonl", "--group", "image", "--trial", "time", "--shuffle", "time",
                         "--resample", "groups", *QUICK).json  # fmt: skip
    assert fresh["design"] == "cl"
    assert "cl" in fresh["rows"][0]["compatible"]


def test_json_has_the_promised_names(weather: Workshop) -> None:
    found = weather.call("urn", "w.jsonl", "--group", "subject", "--trial", "time", "--threshold=-1:1:1", *QUICK).json
    assert [row["threshold"] for row in found["rows"]] == [-1, 0, 1]
    assert {"threshold", "sample_variance", "st", "srs", "cl", "compatible"} <= set(found["rows"][0])
    assert found["rows"][0]["rate"] > found["rows"][2]["rate"]
    as_recorded = weather.call("urn", "w.jsonl", "--group", "subject", "--trial", "time", *QUICK).json["rows"][0]
    assert as_recorded["sample_variance"] == pytest.approx(found["rows"][1]["sample_variance"])
    assert as_recorded["threshold"] is None


def test_the_coarsest_column_that_explains_it_is_named(shop: Workshop) -> None:
    drawn = Weather(subjects=20, times=30, time=0.0).draw(1)
    day = drawn.time // 6
    shifted = type(drawn)(drawn.score + 1.5 * (day % 5 - 2), drawn.subject, drawn.image, drawn.time)
    write_weather(shop.folder / "w.jsonl", shifted, day=[f"d{one}" for one in day.tolist()])
    found = shop.call("urn", "w.jsonl", "--group", "subject", "--trial", "time", *QUICK).json
    assert found["next"]["column"] == "day"


@pytest.mark.slow
def test_the_same_seed_gives_the_same_answer(weather: Workshop) -> None:
    words = ("urn", "w.jsonl", "--group", "image", "--trial", "time", "--shuffle", "time", "--seed", "4", *QUICK)
    assert weather.call(*words).json == weather.hate(*words).json


def test_runs_take_halves_and_are_drawn(weather: Workshop) -> None:
    done = weather.call("urn", "w.jsonl", "--group", "image", "--trial", "time", "--shuffle", "time", "--elements", "4",
                        "--runs", "3", "--plot", "u.png", *QUICK)  # fmt: skip
    assert [row["run"] for row in done.json["rows"]] == [1, 2, 3]
    assert done.json["trials"] == 60 // 2 // 4
    assert (weather.folder / "u.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("style", ["table", "plain", "md", "tex"])
def test_the_text_says_what_is_rejected_and_what_to_try(weather: Workshop, style: str) -> None:
    done = weather.call("urn", "w.jsonl", "--group", "subject", "--trial", "time", "--permutations", "99",
                        "--format", style)  # fmt: skip
    # Sentences are comments in TeX.
    text = " ".join(done.out.replace("\n%", "\n").split())
    assert (
        "Stratified sampling with groups by subject is rejected: the rate varies more than it predicts (p = 0.0200)"
        in text
    )
    assert "shuffle time" in text
    assert "meant for your final partition" in text
    assert "wander" not in text


def test_several_transcripts_are_trials(shop: Workshop) -> None:
    names = []
    for number in range(6):
        drawn = Weather(subjects=15, images=4, times=2, time=0.0).draw(number)
        names.append(str(write_weather(shop.folder / f"w{number}.jsonl", drawn).name))
    found = shop.call("urn", *names, "--group", "subject", "--trial", "source", *QUICK).json
    assert found["trials"] == 6
    assert found["groups"] == 15


def test_matrices(shop: Workshop) -> None:
    write_matrix(people_matrix(20, 8), shop.folder)
    done = shop.call("urn", "alg.npy", "--group", "day", "--trial", "image", "--probe", "image!=0", "--gallery",
                     "image=0", "--threshold", "1,5", *QUICK)  # fmt: skip
    assert done.status == 0, done.err
    rows: list[dict[str, Any]] = done.json["rows"]
    assert rows[0]["p_values"]["cl"] is None  # every trial has one group only
    assert "cl" not in rows[0]["compatible"]
    assert [row["threshold"] for row in rows] == [1, 5]
    assert rows[0]["rate"] < rows[1]["rate"]
    scored = shop.call("urn", "alg.npy", "--group", "day", "--resample", "groups", "--groups", "2", "--on", "score",
                       "--threshold=-3", *QUICK)  # fmt: skip
    assert scored.status == 2
    assert "2 groups are too few for two trials of 2 groups each" in scored.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--group", "sbject", "--trial", "time"], "--group sbject: no such column"),
        (["--group", "subject"], "--trial COLUMN"),
        (["--group", "subject", "--trial", "tim"], "--trial tim"),
        (["--group", "subject", "--trial", "time", "--shuffle", "tiem"], "--shuffle tiem"),
        (
            ["--group", "subject", "--trial", "time", "--elements", "31"],
            "60 repetitions are too few for two trials of 31",
        ),
        (["--group", "image", "--trial", "time", "--elements", "1"], "let a trial take more"),
        (["--group", "subject", "--trial", "time", "--threshold", "a"], "'a' is not a"),
        (["--group", "subject", "--trial", "time", "--threshold", "0:1:0.01"], "60 at most"),
        (["--group", "subject", "--trial", "time", "--groups", "3"], "--groups does nothing without --resample"),
        (["--group", "subject", "--trial", "time", "--distance"], "--distance is for similarity matrices"),
        (["m.npy", "--group", "subject"], "transcripts and matrices together"),
        (["--group", "subject", "--trial", "time", "--gallery", "time=1"], "--gallery is for similarity matrices"),
        (["--group", "subject", "--trial", "time", "--interface", "wisard"], "--interface is for a test that is run"),
        (["--group", "subject", "--trial", "time", "-o", "t.jsonl"], "name one test"),
        (
            ["--group", "subject", "--trial", "time", "--permutations", "19"],
            "--permutations 19: too few to reject anything at --alpha 0.05; give 39 or more",
        ),
    ],
)
def test_mistakes_are_a_line(weather: Workshop, words: list[str], message: str) -> None:
    done = weather.call("urn", "w.jsonl", *words)
    assert done.status == 2
    assert message in done.err


def urn_text(shop: Workshop, *words: str) -> str:
    done = shop.call("urn", *words, "--permutations", "199")
    assert done.status == 0, done.err
    return " ".join(done.out.split())


@pytest.mark.parametrize("trials", [8, 30])
def test_a_design_that_is_not_rejected_is_not_proved(shop: Workshop, trials: int) -> None:
    """The data vary only as the design predicts: the text says that no more was seen, and how little that proves."""
    write_weather(shop.folder / "w.jsonl", Weather(subjects=20, times=trials, image=0.0, time=0.0).draw(5))
    text = urn_text(shop, "w.jsonl", "--group", "subject", "--trial", "time")
    assert (
        "Stratified sampling with groups by subject is not rejected: from trial to trial the rate varied no more, and "
        "no less, than chance allows under this design (p = 0." in text
    )
    assert "This does not prove that the design holds or that nothing else makes the rate vary" in text
    limits = re.search(rf"{trials} trials leave the real variance anywhere from (.*) to (.*) times the sample", text)
    assert limits is not None
    df = trials - 1
    expected = [df / chi2.ppf(0.975, df), df / chi2.ppf(0.025, df)]
    assert [float(limit) for limit in limits.groups()] == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("more", [0.35, 0.7])
def test_added_variation_is_detected(shop: Workshop, more: float) -> None:
    """The same data with a shift for each time: the design is rejected."""
    write_weather(shop.folder / "w.jsonl", Weather(subjects=20, times=30, image=0.0, time=more).draw(5))
    text = urn_text(shop, "w.jsonl", "--group", "subject", "--trial", "time")
    assert "Stratified sampling with groups by subject is rejected: the rate varies more than it predicts (p = " in text
    assert "does not prove" not in text
    assert "not rejected" not in text


def test_variation_too_small_to_be_detected_is_not_denied(shop: Workshop) -> None:
    """With few trials, a real effect of the trials is usually missed: the text must be true of such data too."""
    texts = []
    for seed in range(6):
        write_weather(shop.folder / "w.jsonl", Weather(subjects=10, times=4, image=0.0, time=0.2).draw(seed))
        texts.append(urn_text(shop, "w.jsonl", "--group", "subject", "--trial", "time"))
    missed = [text for text in texts if "is not rejected" in text]
    assert len(missed) >= 3
    assert all(
        "does not prove that the design holds or that nothing else makes the rate vary" in text for text in missed
    )


def test_several_rows_are_summarised_by_the_worst(weather: Workshop) -> None:
    words = ("w.jsonl", "--group", "image", "--trial", "time", "--shuffle", "time", "--threshold=-1,0,1")
    rows = weather.call("urn", *words, "--permutations", "199", "--format", "json").json["rows"]
    worst = min(row["p_values"]["st"] for row in rows)
    assert worst > 0.05
    text = urn_text(weather, *words)
    assert f"(smallest p = {worst:.4f} of 3 rows)" in text
    assert "success: decided again at each threshold" in text


def test_a_design_that_cannot_be_tested_is_neither_supported_nor_rejected(shop: Workshop) -> None:
    write_matrix(people_matrix(20, 8), shop.folder)
    words = ("alg.npy", "--group", "day", "--trial", "image", "--probe", "image!=0", "--gallery", "image=0")
    text = urn_text(shop, *words, "--design", "cl")
    assert "Cluster sampling with groups by day cannot be tested: a trial has a single group" in text
    assert "rejected:" not in text
    assert shop.call("urn", *words, "--design", "cl", *QUICK).json["next"] is None


def test_if_nothing_varies_nothing_is_claimed(shop: Workshop) -> None:
    drawn = Weather(subjects=5, times=6).draw(0)
    always = type(drawn)(np.ones_like(drawn.score), drawn.subject, drawn.image, drawn.time)
    write_weather(shop.folder / "w.jsonl", always)
    text = urn_text(shop, "w.jsonl", "--group", "subject", "--trial", "time")
    assert "cannot be tested: every element succeeds, or every one fails, so nothing varies" in text


def test_fresh_groups_are_said_to_be_tested_by_chi_square(weather: Workshop) -> None:
    words = ("w.jsonl", "--group", "image", "--trial", "time", "--shuffle", "time")
    assert "160 groups, the same in every trial" in urn_text(weather, *words)
    assert "chi-square, since no group" not in urn_text(weather, *words)
    text = urn_text(weather, *words, "--resample", "groups")
    assert "160 groups, different ones in every trial" in text
    assert "from 199 permutations (st: by chi-square, since no group is in two trials)" in text


def test_a_design_that_fits_is_named_beside_the_one_that_does_not(weather: Workshop) -> None:
    text = urn_text(weather, "w.jsonl", "--group", "image", "--trial", "time", "--shuffle", "time", "--design", "cl")
    assert "Cluster sampling with groups by image is rejected: the rate varies less than it predicts" in text
    assert "Not rejected: stratified sampling." in text
    assert "No column explains" not in text


REPEATED = """\
def answer(case, params):
    return case.input if (int(case.id[1:]) * params["step"]) % 7 else "wrong"
PARAMS = {"step": 1}
"""


@pytest.fixture
def repeated(shop: Workshop) -> Workshop:
    """A test whose cases have subjects and days."""
    rows = [f"c{n},x{n},x{n},s{n % 6},d{n // 24}" for n in range(240)]
    shop.script(rows="\n".join(["id,input,expect,subject,day", *rows, ""]))
    shop.interface(REPEATED)
    return shop


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", [[], ["--param", "step=2"], ["--limit", "96", "-j", "2"], ["-o", "mine.jsonl"]])
def test_a_test_is_run_first(repeated: Workshop, words: list[str]) -> None:
    """As with `hate roc`: the result is that of its transcript."""
    ask = ("--group", "subject", "--trial", "day", *QUICK)
    done = repeated.call("urn", "toy", *words, *ask)
    assert done.status == 0, done.err
    transcript = "mine.jsonl" if "-o" in words else "transcripts/toy/work.jsonl"
    assert done.err == f"transcript: {transcript}\n"
    assert done.json == repeated.call("urn", transcript, *ask).json
    assert done.json["trials"] == (4 if "--limit" in words else 10)


def test_a_bundled_test_by_name(shop: Workshop) -> None:
    shop.interface("def answer(case, params):\n    return case.id[3]\n")
    done = shop.call("urn", "hdigits", "--group", "truth", "--trial", "image", "--elements", "71", *QUICK)
    assert done.status == 0, done.err
    # A true claim is recorded without a truth: the claim is the truth.
    assert (done.json["groups"], done.json["trials"]) == (10, 10)


def test_a_test_without_an_interface_says_what_is_missing(shop: Workshop) -> None:
    done = shop.call("urn", "hdigits", "--group", "truth", "--trial", "image")
    assert done.status == 2
    assert "no interface.py or interface.toml here" in done.err


def test_a_rank_test_takes_a_choice_of_gallery_and_probes(shop: Workshop) -> None:
    chosen = ("--gallery", "image=1", "--probe", "image>1", "--group", "subject", "--trial", "image", *QUICK)
    run = shop.call("urn", "faces", "--interface", "matrix:eigenfaces_l1.npy", *chosen)
    assert run.status == 0, run.err
    read = shop.call("urn", "faces/eigenfaces_l1.npy", *chosen)
    for name in ("groups", "trials", "elements"):
        assert run.json[name] == read.json[name]
    assert run.json["rows"][0]["rate"] == pytest.approx(read.json["rows"][0]["rate"], abs=0.05)


@pytest.mark.parametrize("words", [["--interface", "wisard"], ["--limit", "5"], ["-o", "t.jsonl"]])
def test_a_matrix_is_not_run(shop: Workshop, words: list[str]) -> None:
    write_matrix(people_matrix(5, 4), shop.folder)
    done = shop.call("urn", "alg.npy", "--group", "subject", "--trial", "day", *words)
    assert done.status == 2
    assert done.err == f"hate: {words[0]} is for a test that is run; alg.npy is a similarity matrix\n"


def test_a_blank_too_many(shop: Workshop) -> None:
    """What was typed is not a test; the command that was meant is named."""
    assert "'urn'?" in shop.call("urn ").err
