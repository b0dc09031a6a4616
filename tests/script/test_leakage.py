"""Columns that tell the answer: by laws, against units that cross classes, and on the bundled tests."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

import pytest

from harness.script.cases import load_cases
from harness.script.leakage import is_telling, telling_columns
from harness.script.load import load_script
from harness.site.fetch import fetch_data
from tests.rooms import usable_scripts
from tests.workshop import Workshop

Pairs = Sequence[tuple[str, Hashable]]


def verdict(pairs: Pairs) -> bool:
    """Of (value, class) pairs, a case each."""
    tally: dict[str, Counter[Hashable]] = defaultdict(Counter)
    for value, real in pairs:
        tally[value][real] += 1
    return is_telling(tally)


def units(sizes: Sequence[int], classes: Callable[[int], Hashable]) -> list[tuple[str, Hashable]]:
    """Units of these sizes; `classes` gives the class of each unit."""
    return [(f"u{unit}", classes(unit)) for unit, size in enumerate(sizes) for _ in range(size)]


INSIDE: dict[str, Pairs] = {
    "pairs of ten classes": units([2] * 60, lambda unit: unit % 10),
    "pairs of two classes": units([2] * 60, lambda unit: unit % 2),
    "large units": units([10] * 12, lambda unit: unit % 3),
    "rare positives": units([4] * 100, lambda unit: unit < 10),
    "a column that is the class": units([30] * 4, lambda unit: unit),
    "one in ten is of another class": [
        (value, "other" if number % 10 == 0 else real)
        for number, (value, real) in enumerate(units([6] * 40, lambda unit: unit % 4))
    ],
    "half without a value": [*units([2] * 50, lambda unit: unit % 5), *[("", n % 5) for n in range(120)]],
}
CROSSING: dict[str, Pairs] = {
    "every unit has every class": [(f"u{n // 10}", n % 10) for n in range(600)],
    "every unit has two of two": [(f"u{n // 4}", n % 2) for n in range(400)],
    "names of single cases": [(f"c{n}", n % 3) for n in range(500)],
    "all of one class": units([5] * 40, lambda unit: "x"),
    "a few pairs": units([2] * 4, lambda unit: unit % 2),
    "no two answers alike": [(f"u{n // 3}", n) for n in range(300)],
}


@pytest.mark.parametrize("name", INSIDE)
def test_units_inside_one_class_tell_it(name: str) -> None:
    assert verdict(INSIDE[name])


@pytest.mark.parametrize("name", CROSSING)
def test_units_that_cross_classes_tell_nothing(name: str) -> None:
    assert not verdict(CROSSING[name])


@pytest.mark.parametrize("pairs", [*INSIDE.values(), *CROSSING.values()])
def test_neither_names_nor_order_matter(pairs: Pairs) -> None:
    rng = random.Random(4)
    expected = verdict(pairs)
    for _ in range(5):
        values, classes = sorted({value for value, _ in pairs if value}), sorted({str(real) for _, real in pairs})
        names = dict(zip(values, rng.sample(range(10**6), len(values)), strict=True))
        labels = dict(zip(classes, rng.sample(classes, len(classes)), strict=True))
        renamed = [(str(names.get(value, "")), labels[str(real)]) for value, real in pairs]
        rng.shuffle(renamed)
        assert verdict(renamed) == expected


def test_chance_does_not_tell() -> None:
    """Classes dealt out at random, to units of all sizes: 2,000 times nothing is told."""
    rng = random.Random(1)
    for _ in range(2000):
        sizes = [rng.randint(1, 6) for _ in range(rng.randint(2, 60))]
        weights = [rng.random() for _ in range(rng.randint(2, 5))]
        pairs = units(sizes, lambda unit: 0)
        classes = rng.choices(range(len(weights)), weights, k=len(pairs))
        assert not verdict([(value, real) for (value, _), real in zip(pairs, classes, strict=True)])


def test_of_the_bundled_tests_only_one_tells_its_answer() -> None:
    """`subject` of faces is the identity that is asked for. Two cases of hdigits with one `image` have one input."""
    found = {}
    for path in usable_scripts():
        script = load_script(path)
        found[script.name] = telling_columns(load_cases(script, fetch_data(script)))
    assert {name: columns for name, columns in found.items() if columns} == {"faces": ["subject"]}
    assert found.keys() >= {"blank", "hdigits", "shapes"}


def write_test(folder: Path, columns: dict[str, list[str]], classes: list[str], task: str = "label") -> Path:
    """Cases with these columns."""
    folder.mkdir(parents=True)
    lines = [",".join(["id", "input", "expect", *columns])]
    for n, real in enumerate(classes):
        lines.append(",".join([f"c{n}", f"q{n}", real, *(values[n] for values in columns.values())]))
    (folder / "cases.csv").write_text("\n".join([*lines, ""]))
    head = f'format = 1\n[test]\nname = "t"\nversion = "1.0"\nsynopsis = "t"\ntask = "{task}"\n'
    (folder / "t.hate.toml").write_text(f'{head}[cases]\ntable = "cases.csv"\n')
    return folder


def warned(shop: Workshop, folder: Path) -> list[str]:
    done = shop.call("check", str(folder))
    assert done.status == 0, done.out
    return [line.split("'")[1] for line in done.out.splitlines() if "tells the answer" in line]


def test_check_warns_of_what_a_program_could_read_off(shop: Workshop, tmp_path: Path) -> None:
    """`batch[0]` is the class, though no two cases have the same batch; so is the end of `file`."""
    rng = random.Random(3)
    classes = [rng.choice("abc") for _ in range(240)]
    columns = {
        "batch": [f"{real}{rng.randrange(10**9):09d}" for real in classes],
        "file": [f"{n:04d}_{real}" for n, real in enumerate(classes)],
        "number": [str(n) for n in range(240)],
        "colour": [rng.choice(["red", "green"]) for _ in classes],
        "hash": [f"{rng.getrandbits(40):010x}" for _ in classes],
        "writer": [f"w{n % 12}" for n in range(240)],
    }
    assert warned(shop, write_test(tmp_path / "t", columns, classes)) == ["batch", "file"]


def test_what_follows_from_a_claim_that_is_shown_is_no_leak(shop: Workshop, tmp_path: Path) -> None:
    """In a score test the program is told the claim, so the person who is claimed is no secret; the real one is."""
    folder = tmp_path / "s"
    folder.mkdir()
    rng = random.Random(5)
    lines = ["id,input,expect,positive,truth,template,claimed,person"]
    for n in range(400):
        claim, real = rng.randrange(20), rng.randrange(20) if n % 2 else -1
        real = claim if real < 0 else real
        template = f"{claim}-{rng.randrange(3)}"
        lines.append(f"c{n},q{n},p{claim},{str(claim == real).lower()},p{real},{template},{claim},{real}")
    (folder / "cases.csv").write_text("\n".join([*lines, ""]))
    (folder / "s.hate.toml").write_text(
        'format = 1\n[test]\nname = "s"\nversion = "1.0"\nsynopsis = "s"\ntask = "score"\n'
        '[cases]\ntable = "cases.csv"\n[params.threshold]\ntype = "float"\ndefault = 0.5\ndecision = true\n'
    )
    assert warned(shop, folder) == ["person"]
