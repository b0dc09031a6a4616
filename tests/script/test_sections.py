"""Sections of scripts that other packages bring in: several versions of every case, and their inputs."""

from pathlib import Path

import pytest

from tests.packages import Packages
from tests.workshop import Workshop

ENTRY = """
from harness.options import OptionSet, option
from harness.options.entries import SectionEntry
class ShoutOptions(OptionSet):
    no_shout: bool = option("--no-shout", "Only what was said in the first place.", default=False)
SHOUT = SectionEntry(name="shout", where="shout_code:Shout", options=ShoutOptions, made="shouted", holds="shouts")
"""
CODE = """
from dataclasses import dataclass
import msgspec
from harness.files.toml import Section
from harness.script.expansion import ORIGINAL, Expansion, InputError, InputMaker
from shout_entry import SHOUT

class ShoutSection(Section):
    marks: list[int]

@dataclass(frozen=True)
class Shout(Expansion):
    marks: tuple[int, ...]
    entry, section = SHOUT, ShoutSection
    identity, columns = "shouting 1", ("marks",)

    @classmethod
    def of(cls, section):
        return cls(tuple(section.marks)) if section.marks else None

    @property
    def count(self):
        return len(self.marks)

    def versions(self, cases):
        for case in cases:
            for marks in self.marks:
                columns = {**case.columns, "marks": marks, ORIGINAL: case.id}
                yield msgspec.structs.replace(case, id=f"{case.id}!{marks}", columns=columns)

    def moves_truth(self, task):
        return False

    def script_mistakes(self, script):
        if script.task.name != "label":
            yield "shout.marks", f"a {script.task.name} test is no shouting match"

    def case_mistakes(self, case, data):
        if "!" in case.input:
            yield f"input {case.input!r} is loud already"

    def maker(self, data_paths, task, rules):
        return Shouter(data_paths["shouted"])

    def facts(self):
        return {"marks": list(self.marks)}

    def page(self, originals):
        return ["## Shouted", "", f"{originals} texts, each {self.count} times."]

class Shouter(InputMaker):
    def __init__(self, folder):
        self.folder = folder

    def make(self, version):
        if version.input == "x4":
            raise InputError("input 'x4' cannot be shouted")
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{version.id}.txt"
        path.write_text(version.input + "!" * version.columns["marks"])
        return version, str(path)
"""
SECTION = "[shout]\nmarks = [0, 2]\n"
READ = """\
from pathlib import Path
def answer(case, params):
    return Path(case.input).read_text() if "/" in case.input else case.input
"""


@pytest.fixture
def packages(shop: Workshop, tmp_path: Path) -> Packages:
    folder = tmp_path / "packages"
    folder.mkdir()
    Packages(folder).on_path(shop.env)
    shop.env["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    packages = Packages(folder)
    packages.add("shouting", "hate.sections", "shout = shout_entry:SHOUT", ENTRY)
    packages.write("shout_code", CODE)
    return packages


@pytest.mark.slow
@pytest.mark.usefixtures("packages")
def test_a_section_of_another_package_makes_versions(shop: Workshop) -> None:
    shop.script(sections=SECTION)
    shop.interface(READ)
    assert shop.hate("run", "toy", "-o", "out.jsonl").status == 0
    records = shop.records()
    assert [record["id"] for record in records] == [f"c{n}!{marks}" for n in range(6) for marks in (0, 2)]
    assert [record.get("actual") for record in records[:4]] == ["x0", "x0!!", "x1", "x1!!"]
    assert {record["psu"] for record in records} == {f"c{n}" for n in range(6)}
    assert records[8]["message"] == "input 'x4' cannot be shouted"
    done = shop.hate("run", "toy", "--no-shout", "-o", "originals.jsonl")
    assert done.status == 0, done.err
    head = shop.lines("originals.jsonl")[0]
    assert (head["extent"], head["test"]["cases"]) == ({"shout": False}, 12)
    assert "this is of the originals (--no-shout)" in shop.hate("compare", "out.jsonl", "originals.jsonl").err
    assert shop.hate("check", "out.jsonl", "originals.jsonl").out.count("judged again") == 2
    assert "shouts" in shop.hate("cache", "list").out


@pytest.mark.slow
def test_it_is_described_and_part_of_the_identity(shop: Workshop, packages: Packages) -> None:
    shop.script(sections=SECTION)
    facts = shop.hate("describe", "toy", "--format", "json").json
    assert (facts["shout"], facts["originals"], facts["cases"]["total"]) == ({"marks": [0, 2]}, 6, 12)
    assert facts["design"]["psu"] == "original"
    assert "6 texts, each 2 times." in shop.hate("describe", "toy").out
    text = (packages.folder / "shout_code.py").read_text()
    (packages.folder / "shout_code.py").write_text(text.replace("shouting 1", "shouting 2"))
    assert shop.hate("describe", "toy", "--format", "json").json["digest"] != facts["digest"]


@pytest.mark.slow
@pytest.mark.usefixtures("packages")
def test_its_mistakes_come_with_all_others(shop: Workshop) -> None:
    shop.script(sections='[shout]\nmark = [1]\n[design]\nsratum = "x"\n')
    out = shop.hate("check", "toy").out
    assert "shout.marks: missing" in out
    assert "shout.mark: unknown key; did you mean 'marks'?" in out
    assert "design.sratum: unknown key; did you mean 'stratum'?" in out
    rows = "id,input,expect,marks\n1,hey!,a,1\n"
    keys = '[data.shouted]\npath = "cases.csv"\n[design]\nstratum = "marks"\n'
    shop.script(sections=SECTION + keys, rows=rows)
    out = shop.hate("check", "toy").out
    assert "data.shouted: the name is taken by [shout]" in out
    assert "design.stratum: 'marks' differs between the versions of one original" in out
    shop.script(sections=SECTION, rows=rows)
    out = shop.hate("check", "toy").out
    assert "cases.csv:2: case '1' has a column 'marks', which [shout] makes" in out
    assert "cases.csv:2: input 'hey!' is loud already" in out
    shop.script(sections=SECTION, task="score", rows="id,input,expect\n1,hey,a\n")
    assert "shout.marks: a score test is no shouting match" in shop.hate("check", "toy").out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "code", "message"),
    [
        (ENTRY.replace('name="shout"', 'name="cry"'), CODE, "its name is 'cry', but the entry's is 'shout'"),
        (ENTRY, "1 / 0", "shout: shout_code:Shout cannot be loaded: ZeroDivisionError"),
        (ENTRY, "Shout = 3", "is not a subclass of harness.script.expansion.Expansion"),
    ],
)
def test_a_broken_section_stands_in_the_way_of_its_own_tests_alone(
    shop: Workshop, packages: Packages, entry: str, code: str, message: str
) -> None:
    packages.write("shout_entry", entry)
    packages.write("shout_code", code)
    shop.script(sections=SECTION)
    done = shop.hate("describe", "toy")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert message in done.err
    assert message in shop.hate("list").err
    for path in ("hdigits", "shapes"):
        assert shop.hate("describe", path).status == 0


def test_a_section_that_nobody_knows_is_an_unknown_key(shop: Workshop) -> None:
    shop.script(sections=SECTION)
    assert "shout: unknown key" in shop.hate("check", "toy").out
