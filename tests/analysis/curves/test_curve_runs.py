"""Curves of a test that is run first, and of transcripts from every source."""

import pytest

from tests.workshop import Workshop

SCORED = "NAME = 'scored'\ndef answer(case, params):\n    return case.input, int(case.input[1:]) % 4\n"


@pytest.fixture
def score_shop(toy: Workshop) -> Workshop:
    toy.interface(SCORED)
    return toy


@pytest.mark.parametrize("command", ["roc", "det", "pr", "confusion"])
def test_a_test_is_run_and_leaves_a_transcript(score_shop: Workshop, command: str) -> None:
    done = score_shop.call(command, "toy", "--format", "json")
    assert done.status == 0, done.err
    assert "transcript: transcripts/toy/scored.jsonl" in done.err
    again = score_shop.call(command, "transcripts/toy/scored.jsonl", "--format", "json")
    assert again.json == done.json


def test_tests_and_transcripts_go_together(score_shop: Workshop) -> None:
    score_shop.run()
    done = score_shop.call("roc", "toy", "out.jsonl", "-o", "new.jsonl", "--format", "json")
    assert [curve["name"] for curve in done.json["curves"]] == ["new", "out"]
    assert score_shop.records("new.jsonl") == score_shop.records("out.jsonl")


def test_a_folder_and_a_script_are_tests(score_shop: Workshop) -> None:
    for word in ("toy/", "toy/toy.hate.toml", "toy@1.0"):
        assert score_shop.call("roc", word, "--limit", "4").status == 0


@pytest.mark.slow
def test_published_names_and_standard_input_are_transcripts(shop: Workshop) -> None:
    named = shop.hate("roc", "hdigits/wisard", "--format", "json")
    from harness.bundled import bundled

    text = (bundled("transcripts") / "hdigits" / "wisard.jsonl").read_text(encoding="utf-8")
    piped = shop.hate("roc", "-", "--format", "json", input=text)
    assert named.status == 0
    assert piped.json == named.json


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("out.jsonl", "--interface", "witch"), "--interface is for a test that is run"),
        (("out.jsonl", "--param", "a=1"), "--param is for a test that is run"),
        (("out.jsonl", "-o", "x.jsonl"), "name one test"),
        (("none.jsonl",), "none.jsonl: no such file"),
        (("nosuch",), "nosuch"),
        ((), "Missing argument"),
    ],
)
def test_mistakes(score_shop: Workshop, words: tuple[str, ...], text: str) -> None:
    score_shop.run()
    done = score_shop.call("roc", *words)
    assert done.status == 2
    assert text in done.err
