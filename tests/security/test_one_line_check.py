"""`hate check` finds what a run would stumble over, all of it at once, and blames the right file."""

import pytest

from tests.workshop import SCRIPT, Workshop

TRAIN = '[train]\ntable = "train.jsonl"\n'
IMAGES = '[data.images]\npath = "images"\n'


def faulty(shop: Workshop) -> None:
    """A script with two wrong keys, a missing table of weights, and mistakes in the rows of two tables."""
    shop.write("toy/images/1.png", "x")
    shop.write("toy/train.jsonl", '{"input": "{imags}/1.png"}\n{"input": "{images}/no.png"}\n')
    rows = "id,input,expect,positive\nc0,{imgs}/1.png,x0,true\nc1,{images}/1.png,y1,perhaps\nc2,{images}/1.png,,\n"
    design = '[design]\nstratum = "nowhere"\nweights = "w.csv"\n'
    shop.script(keys="autors = []", sections=IMAGES + TRAIN + design, rows=rows)
    path = shop.folder / "toy/toy.hate.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"toy"', '"My Toy"'), encoding="utf-8")


def test_mistakes_of_script_files_and_tables_come_in_one_round(shop: Workshop) -> None:
    faulty(shop)
    done = shop.call("check", "toy")
    assert (done.status, done.err) == (1, "")
    heading, *lines = done.out.splitlines()
    assert heading == "toy/toy.hate.toml: 9 mistakes"
    assert [line.strip() for line in lines] == [
        "line 3: test.name: 'My Toy' should be lowercase letters, digits, dots, _ and -, such as my-test",
        "line 7: test.autors: unknown key; did you mean 'authors'?",
        "line 16: design.weights: 'w.csv' does not exist",
        "cases.csv:2: input '{imgs}/1.png': no [data.imgs] in the script; did you mean 'images'?",
        "cases.csv:2: no column 'nowhere', which the design names; known: expect, id, input, positive, truth",
        "cases.csv:3: positive 'perhaps' is not true or false, 1 or 0",
        "cases.csv:4: case 'c2' is positive and has no ground truth; fill in expect",
        "train.jsonl:1: '{imags}/1.png': no [data.imags] in the script; did you mean 'images'?",
        "train.jsonl:2: 'no.png' does not exist",
    ]


def test_mistakes_in_gallery_weights_and_probes_come_in_one_round(shop: Workshop) -> None:
    """Whether a probe is in the gallery is not asked of a gallery that cannot be read."""
    shop.write("toy/gallery.csv", "id,input,expect\ng1,a,ann\ng1,b,\n")
    shop.write("toy/w.csv", "stratum,weight\na,b\n")
    sections = '[gallery]\ntable = "gallery.csv"\n[design]\nstratum = "s"\nweights = "w.csv"\n'
    shop.script(task="rank", sections=sections, rows="id,input,expect,s\nq1,x,bob,a\nq1,y,ann,a\n")
    lines = [line.strip() for line in shop.call("check", "toy").out.splitlines()]
    assert lines == [
        "toy/toy.hate.toml: 3 mistakes",
        "gallery.csv:3: gallery image 'g1' has no identity; fill in expect",
        "w.csv:2: weight 'b' is not a number from 0 up",
        "cases.csv:3: id 'q1' appears twice; ids must differ",
    ]


def test_a_wrong_task_hides_no_other_mistake_of_the_script(shop: Workshop) -> None:
    shop.script(task="lable", sections='[train]\ntable = "no.csv"\n[params.threshold]\ntype = "text"\n')
    out = shop.call("check", "toy").out
    for words in ("'lable' is not one of", "train.table: 'no.csv' does not exist", "params.threshold.default: missing"):
        assert words in out
    assert "4 mistakes" in out
    assert "threshold: missing; a score test" not in out


def test_tables_of_a_faulty_script_are_not_called_transcripts(shop: Workshop) -> None:
    faulty(shop)
    assert "train.jsonl: " not in shop.call("check", "toy").out
    assert "not a transcript" not in shop.call("check", ".").out


@pytest.mark.parametrize("section", ["cases", "train"])
def test_a_script_that_names_itself_as_its_table(section: str, shop: Workshop) -> None:
    text = SCRIPT.format(task="label", keys="", sections='[train]\ntable = "cases.csv"\n')
    before, _, after = text.partition(f"[{section}]\n")
    shop.write("toy/cases.csv", "id,input,expect\n1,a,a\n")
    shop.write("toy/toy.hate.toml", before + f"[{section}]\n" + after.replace("cases.csv", "toy.hate.toml", 1))
    done = shop.call("check", "toy/toy.hate.toml")
    assert done.status == 1
    assert f"{section}.table: 'toy.hate.toml' is the script itself; name another file" in done.out


def test_data_that_is_the_script_itself(shop: Workshop) -> None:
    shop.script(sections='[data.images]\npath = "toy.hate.toml"\n')
    assert "data.images.path: 'toy.hate.toml' is the script itself" in shop.call("check", "toy").out


@pytest.mark.parametrize(
    ("data", "given", "status"),
    [
        ("", "{imgs}/1.png", 1),  # a path in data that nobody declared
        ("", "{imgs}", 0),  # a text in braces, in a test that has no data
        (IMAGES, "{imgs}", 1),
        (IMAGES, "{images}", 0),
        (IMAGES, "{not a name}/x", 0),
        (IMAGES, '{"a": 1}', 0),
    ],
)
def test_data_that_is_not_declared(data: str, given: str, status: int, shop: Workshop) -> None:
    shop.write("toy/images/1.png", "x")
    quoted = '"' + given.replace('"', '""') + '"'
    shop.script(sections=data, rows=f"id,input,expect\n1,{quoted},a\n")
    shop.interface()
    done = shop.call("check", "toy")
    assert done.status == status, done.out
    assert ("no [data.imgs] in the script" in done.out) == bool(status)
    assert shop.call("run", "toy").status == 2 * status


def test_data_declared_but_not_fetched_is_declared(shop: Workshop) -> None:
    """`hate list` counts cases without fetching anything."""
    sections = f'[data.images]\nurl = "http://127.0.0.1:9/d.zip"\nsha256 = "{"0" * 64}"\nunpack = true\n'
    shop.script(sections=sections, rows="id,input,expect\n1,{images}/1.png,a\n")
    tests = shop.call("list", "--library", ".", "--format", "json").json["tests"]
    assert [test["cases"] for test in tests if test["name"] == "toy"] == [1]


def test_a_placeholder_that_is_misspelt(shop: Workshop) -> None:
    shop.toml('[command]\nargv = ["cat", "{inputt}", "{input}", "{writer}"]\n')
    done = shop.call("check", "interface.toml")
    assert "warning: {inputt} is filled in only if the cases have a column 'inputt'; did you mean {input}?" in done.out
    assert "warning: {writer} is filled in only if the cases have a column 'writer'\n" in done.out
    assert done.out.count("warning") == 2


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("case,score\na,1\n", "s.csv:2: needs a column id and one of label, score, scores, value, answer"),
        ("id,score\na,1\na,2\n", "s.csv:3: id 'a' appears twice"),
        ("id,score\na\n", "1 fields, the header has 2"),
    ],
)
def test_a_table_of_scores_is_read_by_check(table: str, words: str, shop: Workshop) -> None:
    shop.toml('[scores]\ntable = "s.csv"\n')
    shop.write("s.csv", table)
    done = shop.call("check", "interface.toml")
    assert done.status == 1
    assert words in done.out


def test_a_table_that_is_no_table_is_a_mistake_of_its_line(shop: Workshop) -> None:
    shop.script(sections='[train]\ntable = "notes.txt"\n')
    shop.write("toy/notes.txt", "x")
    expected = "line 11: train.table: 'notes.txt': a table is a .csv, .tsv, .jsonl or .parquet file"
    assert expected in shop.call("check", "toy").out
