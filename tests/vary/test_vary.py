"""[vary] in a script: which versions there are, how they are named, whose units they are, and what is refused."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.images import read_image
from harness.model import Case
from harness.script.cases import CaseSet
from harness.script.load import load_script
from harness.vary.variation import KINDS, Variation, VaryAxis
from tests.script.scripts import load, mistakes
from tests.vary.pictures import pgm, picture, varied_script

NOISE = '[vary.noise]\nkind = "gaussian"\nvalues = [0, 5, 10.5]\n'
LIGHT = '[vary.light]\nkind = "contrast"\nvalues = [1, 0.5]\n'
IMAGES = {"a.pgm": pgm(picture()), "b.pgm": pgm(255 - picture())}


def test_versions_are_the_product_of_all_values(tmp_path: Path) -> None:
    cases = load(varied_script(tmp_path, NOISE + LIGHT, images=IMAGES))
    found = list(cases)
    assert len(cases) == cases.positives == len(found) == 12
    assert [case.id for case in found][:3] == ["a@noise=0,light=1", "a@noise=0,light=0.5", "a@noise=5,light=1"]
    assert [(case.columns["original"], case.columns["noise"], case.columns["light"]) for case in found] == list(
        product("ab", (0, 5, 10.5), (1, 0.5))
    )
    assert {case.input for case in found} == {"{images}/a.pgm", "{images}/b.pgm"}
    assert [case.id for case in cases.originals()] == ["a", "b"]
    assert (len(cases.originals()), cases.originals().whole) == (2, 12)


@given(
    ids=st.lists(st.text("ab@=,05", min_size=1, max_size=12), unique=True, min_size=1, max_size=20),
    noise=st.lists(st.integers(0, 60), unique=True, min_size=1, max_size=4),
    light=st.lists(st.floats(0, 1), unique=True, min_size=1, max_size=4),
)
def test_ids_stay_distinct(ids: list[str], noise: list[int], light: list[float]) -> None:
    variation = Variation((VaryAxis("a", "gaussian", tuple(noise)), VaryAxis("b", "occlude", tuple(light))))
    found = [case.id for case in variation.versions(Case(one, "") for one in ids)]
    assert len(set(found)) == len(found) == len(ids) * variation.count


def test_the_original_is_the_unit_unless_the_script_names_another(tmp_path: Path) -> None:
    path = varied_script(tmp_path, NOISE, images=IMAGES)
    cases = load(path)
    assert load_script(path).file.design.psu == "original"
    assert cases.psu is not None
    assert [cases.psu(case) for case in cases] == ["a"] * 3 + ["b"] * 3
    rows = "id,input,expect,writer\na,{images}/a.pgm,x,w1\nb,{images}/b.pgm,y,w1\n"
    own = varied_script(tmp_path / "own", NOISE, images=IMAGES, rows=rows, keys='[design]\npsu = "writer"\n')
    assert load_script(own).file.design.psu == "writer"


def test_the_digest_changes_with_every_value_and_with_the_effects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [NOISE, NOISE.replace("10.5", "10.6"), NOISE + "seed = 3\n", NOISE.replace("noise", "sound"), ""]
    digests = [
        load_script(varied_script(tmp_path / str(n), text, images=IMAGES)).digest for n, text in enumerate(texts)
    ]
    monkeypatch.setattr("harness.vary.variation.EFFECTS_VERSION", 2)
    digests.append(load_script(tmp_path / "0" / "toy.hate.toml").digest)
    assert len(set(digests)) == len(digests)
    assert load_script(tmp_path / "4" / "toy.hate.toml").digest == digests[4]  # no effects, no version of them


def test_neutral_values_give_the_original_file(tmp_path: Path) -> None:
    for kind, about in KINDS.items():
        folder = tmp_path / kind
        text = f'[vary.much]\nkind = "{kind}"\nvalues = [{about.neutral:g}, {min(about.high, 7):g}]\n'
        cases = load(varied_script(folder, text, images={"a.pgm": IMAGES["a.pgm"]}))
        same, other = (cases.input_of(case) for case in cases)
        assert same == str(folder / "images" / "a.pgm")
        assert Path(other).suffix == ".pgm"
        assert Path(other).read_bytes() != IMAGES["a.pgm"]


def test_versions_do_not_depend_on_order_names_of_files_or_other_values(tmp_path: Path) -> None:
    one = load(varied_script(tmp_path / "one", NOISE + LIGHT, images=IMAGES))
    renamed = {"x.pgm": IMAGES["b.pgm"], "y.pgm": IMAGES["a.pgm"]}
    rows = "id,input,expect\nb,{images}/x.pgm,1\na,{images}/y.pgm,2\n"
    fewer = LIGHT + '[vary.noise]\nkind = "gaussian"\nvalues = [10.5]\n'
    other = load(varied_script(tmp_path / "other", fewer, images=renamed, rows=rows))

    def pixels(cases: CaseSet) -> dict[tuple[str, float, float], bytes]:
        columns = ("original", "noise", "light")
        return {tuple(map(case.columns.get, columns)): Path(cases.input_of(case)).read_bytes() for case in cases}  # type: ignore[misc]

    ours, theirs = pixels(one), pixels(other)
    for original in "ab":
        assert ours[original, 10.5, 1] == theirs[original, 10.5, 1]
        # The order of two effects matters.
        assert ours[original, 10.5, 0.5] != theirs[original, 10.5, 0.5]
        assert ours[original, 5, 1] != ours[original, 10.5, 1]


def test_noise_depends_on_the_seed_the_case_and_the_name(tmp_path: Path) -> None:
    grey = pgm(np.full((9, 9), 128))
    texts = [NOISE, NOISE + "seed = 7\n", NOISE.replace("vary.noise", "vary.sound")]
    made = []
    for n, text in enumerate(texts):
        cases = load(varied_script(tmp_path / str(n), text, images={"a.pgm": grey, "b.pgm": grey}))
        made += [Path(cases.input_of(case)).read_bytes() for case in cases if "5" in case.id.split("=")]
    assert len(made) == len(set(made)) == 6


def test_a_version_has_the_format_of_its_original(tmp_path: Path) -> None:
    from PIL import Image

    grey, colours = picture(), picture(channels=3)
    folder = tmp_path / "images"
    folder.mkdir()
    for name, array in {"g.png": grey, "k.png": colours, "t.tif": grey, "j.jpg": colours}.items():
        Image.fromarray(array).save(folder / name)
    np.save(folder / "n.npy", grey.astype(np.uint16) * 200)
    Image.fromarray(grey % 8).save(folder / "old.png")
    palette = Image.fromarray(colours).quantize(16)
    palette.save(folder / "p.png")
    names = {"m.pgm": pgm(grey % 17, 16), "c.ppm": pgm(colours), "w.pbm": b"P4\n8 2\n\xf0\x0f"}
    names |= {path.name: path.read_bytes() for path in folder.iterdir()}
    cases = load(varied_script(tmp_path, '[vary.more]\nkind = "brightness"\nvalues = [9]\n', images=names))
    made = {case.columns["original"] + case.input[-4:]: Path(cases.input_of(case)) for case in cases}
    suffixes = {name: path.suffix for name, path in made.items()}
    assert suffixes == {
        "m.pgm": ".pgm", "c.ppm": ".ppm", "w.pbm": ".pgm", "g.png": ".png", "k.png": ".png", "t.tif": ".tif",
        "j.jpg": ".png", "n.npy": ".npy", "old.png": ".png", "p.png": ".png",
    }  # fmt: skip
    for name in ("g.png", "t.tif"):
        assert (read_image(made[name]) == np.minimum(grey.astype(int) + 9, 255)).all()
    assert (read_image(made["n.npy"]) == np.minimum(grey.astype(int) * 200 + 9 * 257, 65535)).all()
    # A picture of few grey levels keeps its scale: 9 of 255 is about half a level of 16.
    assert made["m.pgm"].read_bytes().startswith(b"P5\n24 20\n16\n")
    assert (read_image(made["m.pgm"]) == np.minimum(np.rint(grey % 17 + 9 * 16 / 255), 16)).all()
    assert read_image(made["p.png"]).shape == colours.shape  # colours, not places in a palette


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    vary = """\
[vary.a]
kind = "gaussian"
values = [0, -1, nan, "x", 1e999]
[vary.b]
kind = "wobble"
values = [1]
[vary.c]
kind = "jpeg"
values = [0, 50.5, true, 1{zeros}]
[vary.d]
kind = "blur"
values = []
[vary.e]
kind = "contrast"
values = [1, 1.0]
[vary.f]
kind = "contrast"
values = [1]
seed = 4
[vary.g]
kind = "contrast"
value = [1]
["vary"."h i"]
kind = "contrast"
values = [1]
"""
    text = mistakes(varied_script(tmp_path, vary.replace("{zeros}", "0" * 400), images=IMAGES))
    assert "values of gaussian (normal noise, by its standard deviation in grey levels of 255)" in text
    assert "-1 is not from 0 to 255, nan is not a number, 'x' is not a number, inf is not from 0 to 255" in text
    assert "kind 'wobble' is not one of gaussian, salt_and_pepper, blur" in text
    assert "0 is not from 1 to 100, 50.5 is not a whole number, True is not a number, 1000000" in text
    assert "vary.d.values: should be a list of numbers, not []" in text
    assert "vary.e: a value is there twice" in text
    assert "vary.f: seed: contrast draws no random numbers" in text
    assert "vary.g.value: unknown key; did you mean 'values'?" in text
    assert "'h i' should be letters, digits and _" in text


def test_what_contradicts_the_rest_of_the_script(tmp_path: Path) -> None:
    names = '[vary.truth]\nkind = "blur"\nvalues = [1]\n[vary.original]\nkind = "blur"\nvalues = [1]\n'
    text = mistakes(varied_script(tmp_path / "1", names, images=IMAGES))
    assert "vary.truth: the name is taken" in text
    assert "vary.original: the name is taken" in text
    many = "".join(f'[vary.v{n}]\nkind = "blur"\nvalues = {list(range(22))}\n' for n in range(3))
    text = mistakes(varied_script(tmp_path / "2", many, images=IMAGES))
    assert "vary: 10,648 versions of each case, the product of all values; at most 10,000" in text
    keys = '[data.varied]\npath = "images"\n[design]\npsu = "id"\nstratum = ["noise", "truth"]\n'
    text = mistakes(varied_script(tmp_path / "3", NOISE, images=IMAGES, keys=keys))
    assert "data.varied: the name is taken by [vary]" in text
    assert "design.psu: 'id' differs between the versions of one original" in text
    assert "design.stratum: 'noise' differs between the versions of one original" in text
    rows = "id,input,expect\n1,{images}/a.pgm,{images}/a.pgm\n"
    turn, keys = '[vary.turn]\nkind = "rotate"\nvalues = [0, 9]\n', '[design]\npsu = "expect"\n'
    moved = varied_script(tmp_path / "4", turn, images=IMAGES, rows=rows, task="mask", keys=keys)
    assert "design.psu: 'expect' differs between the versions of one original" in mistakes(moved)


def test_what_contradicts_the_cases(tmp_path: Path) -> None:
    rows = "id,input,expect,noise\n1,plain text,x,3\n2,{images}/a.txt,x,3\n3,{images}/a.pgm,x,3\n"
    images = {"a.pgm": b"", "a.txt": b""}
    text = mistakes(varied_script(tmp_path, NOISE, images=images, rows=rows))
    assert "cases.csv:2: input 'plain text' is not a file of the test's data, such as {images}/1.png" in text
    assert "cases.csv:3: input '{images}/a.txt' is not an image (.png .pgm" in text
    assert "cases.csv:4: case '3' has a column 'noise', which [vary] makes" in text
