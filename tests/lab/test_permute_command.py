"""`hate permute` on the command line."""

from pathlib import Path

import pytest

from tests.matrices.virtual import people_matrix, write_matrix
from tests.report.test_tidy_csv import limits, rows
from tests.workshop import Workshop


@pytest.fixture
def faces(shop: Workshop) -> Workshop:
    for number, noise in enumerate((0.6, 1.2)):
        write_matrix(people_matrix(20, 4, noise=noise, seed=4, name="ab"[number]), shop.folder)
    return shop


def test_json_has_the_promised_names(faces: Workshop) -> None:
    done = faces.call("permute", "a.npy", "b.npy", "--differ", "day", "--experiments", "200", "--format", "json")
    assert done.status == 0, done.err
    found = done.json
    assert found["experiments"] == 200
    assert found["seed"] == 0
    assert [one["name"] for one in found["algorithms"]] == ["a", "b"]
    assert [rate["rank"] for rate in found["algorithms"][0]["rates"]] == list(range(1, 11))
    first = found["algorithms"][0]["rates"][0]
    assert first["interval"][0] <= first["mean"] <= first["interval"][1]
    pair = found["pairs"][0]
    assert (pair["a"], pair["b"], pair["rank"]) == ("a", "b", 1)
    assert pair["p_not_better"] == pytest.approx((pair["ties"] + pair["b_better"] + 1) / 201)


def test_the_text_says_which_people_it_is_about(faces: Workshop) -> None:
    for style in ("table", "plain", "md", "tex"):
        done = faces.call("permute", "a.npy", "b.npy", "--experiments", "50", "--format", style)
        assert done.status == 0, done.err
        text = " ".join(done.out.split())
        assert "is about these 20 people under other choices of image, not about new people" in text
        assert "50 virtual experiments, balanced, seed 0" in text


@pytest.mark.parametrize("style", ["table", "plain", "md", "tex"])
def test_a_share_of_experiments_is_not_called_a_p_value(faces: Workshop, style: str) -> None:
    words = ("permute", "a.npy", "b.npy", "--experiments", "50")
    pair = faces.call(*words, "--format", "json").json["pairs"][0]
    # Sentences are comments in TeX.
    text = " ".join(faces.call(*words, "--format", style).out.replace("\\", "").replace("\n%", "\n").split())
    assert "the share of the experiments in which A was not better than B" in text
    assert "Neither is a p-value" in text
    assert "p, A" not in text
    for share in (pair["p_not_better"], pair["p_b_not_better"]):
        assert f"{share:.4f}" in text
    # Both shares count ties, and each counts one experiment more than there was.
    both = pair["p_not_better"] + pair["p_b_not_better"]
    assert both * 51 == pytest.approx(50 + pair["ties"] + 2)


def test_people_who_are_left_out_are_named(faces: Workshop) -> None:
    table = faces.folder / "a.labels.csv"
    header, *rows = table.read_text().splitlines()
    subject, day = header.split(",").index("subject"), header.split(",").index("day")
    cells = [row.split(",") for row in rows]
    alone = cells[0][subject]
    for row in cells:
        row[day] = "1" if row[subject] == alone else row[day]
    table.write_text("\n".join([header, *map(",".join, cells), ""]))
    done = faces.call("permute", "a.npy", "--differ", "day", "--experiments", "20")
    assert f"Left out: 1 person has no such pair of images ({alone})." in " ".join(done.out.split())
    assert "about these 19 people" in " ".join(done.out.split())


def test_csv_has_every_rank(faces: Workshop) -> None:
    done = faces.call("permute", "a.npy", "--experiments", "50", "--format", "csv")
    assert done.out.splitlines()[0] == "algorithm,rank,mean,sd,low,high"
    assert len(done.out.splitlines()) == 11


@pytest.mark.slow
def test_a_seed_makes_it_the_same_in_another_process(faces: Workshop) -> None:
    words = ("permute", "a.npy", "--experiments", "80", "--seed", "5", "--format", "json")
    assert faces.call(*words).json == faces.hate(*words).json


@pytest.mark.slow
def test_both_ways_of_drawing_and_a_picture(faces: Workshop) -> None:
    done = faces.call("permute", "a.npy", "b.npy", "--experiments", "300", "--sampling", "both",
                      "--plot", "p.png", "--format", "json")  # fmt: skip
    assert done.status == 0, done.err
    means = [found["algorithms"][0]["rates"][0]["mean"] for found in (done.json, done.json["unbalanced"])]
    assert means[0] == pytest.approx(means[1], abs=0.05)
    assert (faces.folder / "p.png").read_bytes().startswith(b"\x89PNG")


def test_conditions_choose_gallery_and_probes(faces: Workshop) -> None:
    done = faces.call("permute", "a.npy", "--gallery", "day=1", "--probe", "day=2", "--experiments", "10",
                      "--format", "json")  # fmt: skip
    assert done.json["image_pairs"] == 20 * 2 * 2


def test_matrices_of_a_bundled_test_by_name(shop: Workshop) -> None:
    done = shop.call("permute", "faces", "--experiments", "200", "--format", "json")
    assert done.status == 0, done.err
    assert [one["name"] for one in done.json["algorithms"]] == ["eigenfaces_l1", "eigenfaces_mahalanobis"]
    assert done.json["people"] == 40
    # Distances, as the test says: read as similarities, they would find nobody.
    assert done.json["algorithms"][0]["rates"][0]["mean"] > 0.5
    one = shop.call("permute", "faces/eigenfaces_l1.npy", "--experiments", "200", "--format", "json").json
    assert one["algorithms"] == done.json["algorithms"][:1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.npy"], "missing.npy"),
        (["hdigits"], "without similarity matrices"),
        (["faces/none.npy"], "none.npy"),
        (["a.npy", "--differ", "dya"], "no column 'dya'"),
        (["a.npy", "--subject", "who"], "no column 'who'"),
        (["a.npy", "--ranks", "21"], "--ranks 21"),
        (["a.npy", "--gallery", "day"], "COLUMN=VALUE"),
        (["a.npy", "--gallery", "day=9"], "no gallery image has day=9"),
        (["a.npy", "--plot", "p.doc"], ".svg, .png or .pdf"),
        (["a.npy", "--experiments", "0"], "0"),
    ],
)
def test_mistakes_are_a_line(faces: Workshop, words: list[str], message: str) -> None:
    done = faces.call("permute", *words)
    assert done.status == 2
    assert message in done.err


def test_help_and_list_of_commands_need_no_numpy(shop: Workshop, tmp_path: Path) -> None:
    done = shop.hate("permute", "--help")
    assert done.status == 0
    assert "--differ" in done.out


def test_csv_is_one_table_with_the_differences_last(faces: Workshop) -> None:
    done = faces.call("permute", "a.npy", "b.npy", "--experiments", "200", "--format", "csv")
    found = rows(done.out)
    limits(found)
    assert [row["less"] for row in found if row["rank"] == "1"] == ["", "", "b"]
