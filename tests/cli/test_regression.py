"""`hate test` in a build: which cases may fail, what is printed, what a build server reads."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.workshop import Workshop

# The toy test's positive cases are c0, c2, c4, ...; this program misses the first `wrong` of them.
MISSING = """\
def answer(case, params):
    number = int(case.input[1:])
    return "nothing" if number < {wrong} else case.input
"""


def toy(shop: Workshop, *, wrong: int, count: int = 60) -> None:
    shop.script(count)
    shop.interface(MISSING.format(wrong=wrong))


def test_all_pass(shop: Workshop) -> None:
    toy(shop, wrong=0)
    done = shop.call("test", "toy")
    assert (done.status, done.out) == (0, "toy: all 60 cases passed\n")


def test_at_most_twenty_failures_are_shown_and_the_rest_counted(shop: Workshop) -> None:
    toy(shop, wrong=60)
    done = shop.call("test", "toy")
    assert done.status == 1
    lines = done.out.splitlines()
    assert [line.partition(":")[0] for line in lines[:20]] == [f"c{n}" for n in range(0, 40, 2)]
    assert lines[20] == "... and 10 more; --verbose shows all"
    assert lines[21].startswith("toy: 30 of 60 cases failed; rate 0.5000")
    assert len(shop.call("test", "toy", "--verbose").out.splitlines()) == 61


@pytest.mark.parametrize(("least", "status"), [("0.95", 0), ("0.96", 1), ("0", 0), ("1", 1)])
def test_the_rate_may_be_enough(shop: Workshop, least: str, status: int) -> None:
    toy(shop, wrong=6)  # 3 of 60 fail: 0.95
    done = shop.call("test", "toy", "--least", least)
    assert done.status == status
    assert f"rate at least {least}: {'FAILED' if status else 'passed'}: rate 0.9500" in done.out


@pytest.mark.parametrize("more", [(), ("-o", "kept.jsonl")], ids=["unkept", "kept"])
@pytest.mark.parametrize(
    ("weights", "rate"), [("cases", 60 / 80), ("w", 60 / 260), ("equal", 0.5 * 58 / 60 + 0.5 * 2 / 20)]
)
def test_the_rate_follows_the_weights_of_the_test(
    shop: Workshop, weights: str, rate: float, more: tuple[str, ...]
) -> None:
    """What is held against `--least` is the rate that `hate rate` gives."""
    shop.interface("def answer(case, params):\n    return 'a'\n")
    lines = [
        f"c{n},x,{'a' if 2 <= n < 62 else 'b'},{'s' if n < 60 else 't'},{1 if 2 <= n < 62 else 10}" for n in range(80)
    ]
    shop.write("cases.csv", "\n".join(["id,input,expect,s,w", *lines]) + "\n")
    head = 'format = 1\n[test]\nname = "toy"\nversion = "1.0"\nsynopsis = "a toy"\ntask = "label"\n'
    shop.write("toy.hate.toml", f'{head}[cases]\ntable = "cases.csv"\n[design]\nstratum = "s"\nweights = "{weights}"\n')
    for least, status in ((rate - 0.001, 0), (rate + 0.001, 1)):
        done = shop.call("test", "toy", "--least", f"{least:.6f}", "--force", *more)
        assert done.status == status, done.out
        assert f"rate {rate:.4f}" in done.out.splitlines()[-1]


def test_worse_than_a_stored_run_is_what_the_paired_test_says(shop: Workshop) -> None:
    toy(shop, wrong=0)
    shop.run(output="good.jsonl")
    shop.interface(MISSING.format(wrong=4))
    few = shop.call("test", "toy", "--baseline", "good.jsonl", "--quiet")
    assert few.status == 0
    assert "cannot be told apart" in few.out
    shop.interface(MISSING.format(wrong=40))
    many = shop.call("test", "toy", "--baseline", "good.jsonl", "--quiet", "-o", "bad.jsonl")
    assert many.status == 1
    assert "not worse than good.jsonl: FAILED: good is better than this-run" in many.out
    # The twin: `hate compare --fail-if-worse` decides the same.
    assert shop.call("compare", "bad.jsonl", "good.jsonl", "--fail-if-worse").status == 1
    better = shop.call("test", "toy", "--baseline", "bad.jsonl", "--quiet")
    assert better.status == 0


def test_a_baseline_of_another_test_is_refused(shop: Workshop) -> None:
    toy(shop, wrong=0)
    done = shop.call("test", "toy", "--baseline", "hdigits/wisard")
    assert done.status == 2
    assert "no run of toy among them" in done.err


def test_known_failures_may_fail_and_new_ones_may_not(shop: Workshop) -> None:
    toy(shop, wrong=6)
    shop.write("known.txt", "# not yet\nc0\ntoy/c2\n\nc4\nc8\n")
    done = shop.call("test", "toy", "--known-failures", "known.txt")
    assert done.status == 0
    assert "toy: 0 new failures, 3 known ones" in done.out
    assert "toy: 1 known failures pass now: c8" in done.out
    assert "c0:" not in done.out
    shop.write("known.txt", "c0\n")
    worse = shop.call("test", "toy", "--known-failures", "known.txt")
    assert worse.status == 1
    assert [line.partition(":")[0] for line in worse.out.splitlines()[:2]] == ["c2", "c4"]
    # Every rule must hold.
    assert shop.call("test", "toy", "--known-failures", "known.txt", "--least", "0.5").status == 1


@pytest.mark.parametrize("text", [None, b"\xff\xfe"])
def test_known_failures_that_cannot_be_read(shop: Workshop, text: bytes | None) -> None:
    toy(shop, wrong=0)
    if text is not None:
        shop.write("known.txt", text)
    done = shop.call("test", "toy", "--known-failures", "known.txt")
    assert done.status == 2
    assert done.err.startswith("hate: --known-failures known.txt: ")


def folder_of_tests(shop: Workshop) -> None:
    for name in ("one", "two"):
        shop.script(6)
        for file in ("cases.csv", "toy.hate.toml"):
            text = (shop.folder / "toy" / file).read_text(encoding="utf-8").replace('"toy"', f'"{name}"')
            shop.write(f"all/{name}/{file.replace('toy', name)}", text)


def test_a_folder_of_tests_has_one_summary(shop: Workshop) -> None:
    folder_of_tests(shop)
    shop.interface()
    done = shop.call("test", "all")
    assert done.status == 0
    assert done.out.splitlines() == [
        "one: all 6 cases passed", "two: all 6 cases passed", "all 2 tests passed",
    ]  # fmt: skip
    shop.interface(MISSING.format(wrong=2))
    done = shop.call("test", "all/one", "all/two/two.hate.toml", "--known-failures", shop.write("known", "one/c0\n"))
    assert done.status == 1
    assert done.out.splitlines()[-1] == "1 of 2 tests failed: two"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("all", "-o", "x.jsonl"), "2 tests do not fit into one transcript"),
        (("empty/",), "empty/: no test in it"),
        (("all", "--quiet", "--verbose"), "exclude one another"),
        (("all", "--least", "1.5"), "--least"),
    ],
)
def test_what_is_refused(shop: Workshop, words: tuple[str, ...], said: str) -> None:
    folder_of_tests(shop)
    shop.interface()
    (shop.folder / "empty").mkdir()
    done = shop.call("test", *words)
    assert done.status == 2
    assert said in done.err


def suites(path: Path) -> ElementTree.Element:
    found = ElementTree.parse(path).getroot()
    for suite in [found, *found.findall("testsuite")]:
        cases = suite.findall(".//testcase")
        assert int(suite.attrib["tests"]) == len(cases)
        for name, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[name]) == len(suite.findall(f".//{element}"))
    return found


def test_a_build_server_reads_the_results(shop: Workshop) -> None:
    folder_of_tests(shop)
    shop.interface("def answer(case, params):\n    if case.id == 'c2':\n        1 / 0\n    return 'x0'\n")
    assert shop.call("test", "all", "--junit", "results.xml", "--silent").status == 1
    found = suites(shop.folder / "results.xml")
    assert [suite.attrib["name"] for suite in found] == ["one", "two"]
    assert (found.attrib["failures"], found.attrib["errors"]) == ("2", "2")
    failure = found.find(".//failure")
    assert failure is not None
    assert failure.attrib["message"] == "c4: FN: expected x4, answered x0"


def test_known_failures_and_tolerated_ones_are_skipped(shop: Workshop) -> None:
    toy(shop, wrong=4)
    shop.call("test", "toy", "--known-failures", shop.write("known", "c0\n"), "--junit", "known.xml")
    known = suites(shop.folder / "known.xml")
    assert (known.attrib["failures"], known.attrib["skipped"]) == ("1", "1")
    shop.call("test", "toy", "--least", "0.99", "--junit", "least.xml")
    least = suites(shop.folder / "least.xml")
    assert (least.attrib["failures"], least.attrib["skipped"]) == ("1", "2")
    failed = least.find(".//testcase[@name='rate at least 0.99']/failure")
    assert failed is not None


def test_hostile_text_stays_text_in_xml(shop: Workshop) -> None:
    nasty = "]]></failure><x y='\x1b[31m\x00\ufffe\uffff\u2028&amp;\" \ud800"
    name = "\"<&>'\x07"
    shop.script(rows=f'id,input,expect\n"{name.replace(chr(34), chr(34) * 2)}",x,y\n')
    shop.interface(f"def answer(case, params):\n    return {nasty!r}\n")
    done = shop.call("test", "toy", "--junit", "results.xml")
    assert done.status == 1
    found = suites(shop.folder / "results.xml")
    case = found.find(".//testcase")
    assert case is not None
    assert case.attrib["name"] == "\"<&>'\\x07"
    assert len(found.findall(".//failure") + found.findall(".//error")) == 1
    assert found.find(".//x") is None


def test_a_file_that_cannot_be_written(shop: Workshop) -> None:
    toy(shop, wrong=0)
    done = shop.call("test", "toy", "--junit", "no/such/folder.xml")
    assert done.status == 2
    assert "no/such/folder.xml" in done.err
