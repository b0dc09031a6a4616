"""`hate cmc`: ranks counted by hand, bands, and invalid matrices."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.stats.rates import wilson
from tests.workshop import Workshop

# Four probes, a gallery of three people; ranks 1, 2 (a tie counts against), 3 and none.
SMALL = ",ann,bob,cid\nann,0.9,0.2,0.1\nbob,0.5,0.5,0.1\ncid,0.9,0.8,0.7\ndan,0.1,0.2,0.3\n"


def curve(shop: Workshop, *words: str | Path) -> Any:
    done = shop.call("cmc", *words, "--format", "json")
    assert done.status == 0, done.err
    return done.json["curves"][0]


def random_matrix(shop: Workshop, people: int = 20, images: int = 2) -> tuple[Path, np.ndarray[Any, Any], list[int]]:
    rng = np.random.default_rng(0)
    who = [i // images for i in range(people * images)]
    scores = rng.normal(size=(len(who), len(who))) + 2.0 * np.equal.outer(who, who)
    names = [f"p{person:02d}_{i % images}" for i, person in enumerate(who)]
    rows = [",".join([names[i], *map(repr, scores[i].tolist())]) for i in range(len(who))]
    return shop.write("faces.csv", "\n".join([",".join(["", *names]), *rows, ""])), scores, who


def test_ranks_counted_by_hand(shop: Workshop) -> None:
    found = curve(shop, shop.write("small.csv", SMALL))
    assert (found["name"], found["probes"], found["gallery"]) == ("small", 3, 3)
    assert found["ranks"] == [1, 2, 3]
    assert found["rates"] == pytest.approx([1 / 3, 2 / 3, 1.0])
    limits = wilson(1, 3)
    assert (found["low"][0], found["high"][0]) == pytest.approx((limits.low, limits.high))
    assert "probes of people not enrolled have no rank and are left out: 1" in found["notes"][0]


def test_distances(shop: Workshop) -> None:
    path = shop.write("d.tsv", "\tann\tbob\nann\t0.1\t0.5\nbob\t0.1\t0.2\n")
    assert curve(shop, path, "--distance")["rates"] == [0.5, 1.0]


def test_people_with_several_images_against_a_loop(shop: Workshop) -> None:
    path, scores, who = random_matrix(shop)
    found = curve(shop, path, "--identity", "^(p[0-9]+)_", "--exclude-diagonal")
    ranks = []
    for i, person in enumerate(who):
        best = {p: max(scores[i, j] for j, q in enumerate(who) if q == p and j != i) for p in set(who)}
        ranks.append(1 + sum(score >= best[person] for p, score in best.items() if p != person))
    assert found["rates"] == pytest.approx([np.mean([rank <= r for rank in ranks]) for r in found["ranks"]])
    assert (found["people"], found["gallery"], found["target"]) == (20, 20, "new people")
    assert found["bands"] == "jackknife"


@pytest.mark.parametrize("bands", ["wilson", "brr", "bootstrap", "none"])
def test_bands(shop: Workshop, bands: str) -> None:
    path, _, _ = random_matrix(shop)
    found = curve(shop, path, "--identity", "^p[0-9]+", "--bands", bands, "--ranks", "5")
    assert len(found["ranks"]) == 5
    if bands == "none":
        assert set(found["low"]) == {None}
    else:
        inside = zip(found["low"], found["rates"], found["high"], strict=True)
        assert all(low <= rate <= high and low < high for low, rate, high in inside)


FACES = Path(__file__).parents[3] / "test_scripts" / "faces"
# How 358 pictures of 40 people are sampled, and the method of their bands.
FACE_BANDS = {
    "people": ((), "jackknife"),
    "strata": (("--stratum", "subject"), "brr"),
    "independent": (("--bands", "wilson"), "wilson"),
    "resampled": (("--bands", "bootstrap", "--psu", "none"), "bootstrap"),
    "resampled people": (("--bands", "bootstrap"), "bootstrap"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("design", FACE_BANDS)
@pytest.mark.parametrize("name", ["eigenfaces_l1.npy", "eigenfaces_mahalanobis.npy"])
def test_bands_of_real_ranks_rise_with_the_rate_and_are_nowhere_certain(shop: Workshop, name: str, design: str) -> None:
    words, method = FACE_BANDS[design]
    found = curve(shop, FACES / name, "--distance", "--gallery", "image=1", "--probe", "image>1", *words)
    assert found["bands"] == method
    low, rates, high = (np.array(found[column]) for column in ("low", "rates", "high"))
    assert rates[-1] == 1.0, "everybody is found at the last rank"
    assert (np.diff(rates) >= 0).all()
    assert (np.diff(low) >= -1e-12).all()
    assert (np.diff(high) >= -1e-12).all()
    assert ((low <= rates) & (rates <= high)).all()
    assert low[-1] < 1.0


@pytest.mark.parametrize("words", [(), ("--bands", "bootstrap"), ("--psu", "none")], ids=str)
def test_the_first_probe_that_is_missed_does_not_narrow_the_band(shop: Workshop, words: tuple[str, ...]) -> None:
    """40 people with two images each: all found at rank 1, then one only at rank 2."""
    scores = np.eye(40).repeat(2, axis=0) + 0.0
    names = [f"p{person:02d}_{image}" for person in range(40) for image in range(2)]
    lows = []
    for missed in (0, 1):
        scores[0, 1] = 2.0 * missed
        rows = [",".join([name, *map(str, row)]) for name, row in zip(names, scores.tolist(), strict=True)]
        header = ",".join(["", *(f"p{person:02d}" for person in range(40))])
        path = shop.write("faces.csv", "\n".join([header, *rows, ""]))
        found = curve(shop, path, "--identity", "^(p[0-9]+)", *words)
        assert found["rates"][0] == pytest.approx(1 - missed / 80)
        assert (np.diff(found["low"]) >= -1e-12).all()
        lows.append(found["low"])
    assert lows[1][0] <= lows[0][0] < 1.0
    assert lows[1][1] == pytest.approx(lows[0][1]), "from rank 2 on both are right"


def test_data_and_pictures(shop: Workshop) -> None:
    path, _, _ = random_matrix(shop)
    table = shop.call("cmc", path, "--format", "table", "--plot", "a.svg")
    assert "median rank" in table.out
    first = (shop.folder / "a.svg").read_bytes()
    plain = shop.call("cmc", path, "--plot", "a.svg", "--gnuplot", "a.gp", "--force")
    assert (shop.folder / "a.svg").read_bytes() == first
    rows = [line.split() for line in plain.out.splitlines() if not line.startswith("#")]
    assert [int(row[0]) for row in rows] == list(range(1, 41))


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")
def test_gnuplot_draws_the_script(shop: Workshop) -> None:
    path, _, _ = random_matrix(shop)
    assert shop.call("cmc", path, "--gnuplot", "a.gp", "--force").status == 0
    ran = subprocess.run(["gnuplot", "a.gp"], cwd=shop.folder, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "faces, rank 1" in (shop.folder / "a.svg").read_text(encoding="utf-8")


MISTAKES = [
    ("", "no labels"),
    ("x\n", "no labels"),
    (",a,b\n", "no rows"),
    (",a,b\na,1\n", ":2: 2 fields, the first row has 3"),
    (",a,b\na,1,x\n", ":2: column 3: 'x' is not a number"),
    (",a,b\na,1,nan\n", ":2: column 3: 'nan' is not a number"),
    (",a,b\n,1,2\n", ":2: no label"),
    (",a,\na,1,2\n", ":1: column 3 has no label"),
    (",a,b\nc,1,2\n", "no probe's label is in the gallery"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_invalid_matrices(shop: Workshop, text: str, message: str) -> None:
    done = shop.call("cmc", shop.write("m.csv", text))
    assert done.status == 2
    assert message in done.err
    assert "m" in done.err


def test_files_that_are_not_matrices(shop: Workshop) -> None:
    missing = shop.call("cmc", "none.csv")
    assert (missing.status, "none.csv: No such file" in missing.err) == (2, True)
    binary = shop.call("cmc", shop.write("b.csv", b"\xff\xfe\x00"))
    assert (binary.status, "not UTF-8" in binary.err) == (2, True)
    transcript = shop.call("cmc", "t.jsonl")
    assert (transcript.status, "t.jsonl: no such file" in transcript.err) == (2, True)
    path = shop.write("small.csv", SMALL)
    assert "does not match" in shop.call("cmc", path, "--identity", "^x").err
    assert "--identity (" in shop.call("cmc", path, "--identity", "(").err
