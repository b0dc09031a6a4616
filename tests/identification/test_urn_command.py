"""`hate urn` as it is called, on transcripts and matrices."""

from typing import Any

import pytest
from virtual import people_matrix, write_matrix
from weather import Weather, write_weather
from workshop import Workshop

QUICK = ("--permutations", "99", "--format", "json")


@pytest.fixture
def weather(shop: Workshop) -> Workshop:
    drawn = Weather().draw(2)
    write_weather(shop.folder / "w.jsonl", drawn, day=[f"d{time // 10}" for time in drawn.time.tolist()],
                  camera=[f"k{number % 3}" for number in range(drawn.time.size)])  # fmt: skip
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


def test_the_same_seed_gives_the_same_answer(weather: Workshop) -> None:
    words = ("urn", "w.jsonl", "--group", "image", "--trial", "time", "--shuffle", "time", "--seed", "4", *QUICK)
    assert weather.call(*words).json == weather.hate(*words).json


def test_runs_take_halves_and_are_drawn(weather: Workshop) -> None:
    done = weather.call("urn", "w.jsonl", "--group", "image", "--trial", "time", "--shuffle", "time", "--elements", "4",
                        "--runs", "3", "--plot", "u.png", *QUICK)  # fmt: skip
    assert [row["run"] for row in done.json["rows"]] == [1, 2, 3]
    assert done.json["trials"] == 60 // 2 // 4
    assert (weather.folder / "u.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("style", ["table", "plain", "md", "tex"])
def test_the_text_says_what_stands_and_what_to_try(weather: Workshop, style: str) -> None:
    done = weather.call("urn", "w.jsonl", "--group", "subject", "--trial", "time", "--permutations", "99",
                        "--format", style)  # fmt: skip
    text = " ".join(done.out.split())
    assert "Stratified sampling with groups by subject is rejected: the rate varies more than it predicts" in text
    assert "shuffle time" in text
    assert "meant for the partition that you end with" in text


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
    assert "two trials are needed" in scored.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--group", "sbject", "--trial", "time"], "--group sbject: no such column"),
        (["--group", "subject"], "--trial COLUMN"),
        (["--group", "subject", "--trial", "tim"], "--trial tim"),
        (["--group", "subject", "--trial", "time", "--shuffle", "tiem"], "--shuffle tiem"),
        (["--group", "subject", "--trial", "time", "--elements", "31"], "1 trials of 31"),
        (["--group", "image", "--trial", "time", "--elements", "1"], "let a trial take more"),
        (["--group", "subject", "--trial", "time", "--threshold", "a"], "'a' is not a"),
        (["--group", "subject", "--trial", "time", "--threshold", "0:1:0.01"], "60 at most"),
        (["--group", "subject", "--trial", "time", "--groups", "3"], "--resample groups"),
        (["--group", "subject", "--trial", "time", "--distance"], "--distance is for similarity matrices"),
        (["m.npy", "--group", "subject"], "transcripts and matrices together"),
    ],
)
def test_mistakes_are_a_line(weather: Workshop, words: list[str], said: str) -> None:
    done = weather.call("urn", "w.jsonl", *words)
    assert done.status == 2
    assert said in done.err
