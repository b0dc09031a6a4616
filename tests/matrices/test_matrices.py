"""Similarity matrices: reading, labels, choosing, ranking."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError, HateError, UsageError
from harness.files.conditions import parse_condition
from harness.matrices import matrix as matrices
from harness.matrices.matrix import Labels, Matrix
from harness.matrices.read import read_matrix
from tests.matrices.matrix_files import slow_rank, write_faces
from tests.simulation import examples


def test_npy_is_mapped_and_labelled(tmp_path: Path) -> None:
    found = read_matrix(write_faces(tmp_path))
    assert isinstance(found.stored, np.memmap)
    assert found.shape == (18, 18)
    assert found.name == "faces"
    assert found.rows.column("session")[:4].tolist() == ["1", "2", "3", "1"]


def test_selected_images_meet_all_conditions(tmp_path: Path) -> None:
    whole = read_matrix(write_faces(tmp_path))
    chosen = whole.select(
        [parse_condition("session>=2"), parse_condition("subject!=p0")], [parse_condition("session=1")]
    )
    assert chosen.rows.ids[:3].tolist() == ["p1_2", "p1_3", "p2_2"]
    assert chosen.columns.ids.tolist() == [f"p{n}_1" for n in range(6)]
    np.testing.assert_array_equal(
        chosen.scores, np.asarray(whole.stored)[4::1][[0, 1, 3, 4, 6, 7, 9, 10, 12, 13]][:, ::3]
    )
    again = chosen.select([parse_condition("subject=p3")])
    np.testing.assert_array_equal(again.scores, np.asarray(whole.stored)[[10, 11]][:, ::3])


def test_ranks_leave_an_image_out_of_its_own_gallery(tmp_path: Path) -> None:
    whole = read_matrix(write_faces(tmp_path))
    gallery = whole.columns.column("subject").tolist()
    expected = [slow_rank(whole.stored[i], gallery[i], gallery, i) for i in range(18)]
    np.testing.assert_array_equal(whole.ranks().rank, expected)
    naive = [slow_rank(whole.stored[i], gallery[i], gallery) for i in range(18)]
    np.testing.assert_array_equal(whole.ranks(exclude_same=False).rank, naive)


def test_a_person_whose_only_image_is_the_probe_is_not_enrolled(tmp_path: Path) -> None:
    whole = read_matrix(write_faces(tmp_path))
    ranks = whole.select([], [parse_condition("session=1")]).ranks()
    np.testing.assert_array_equal(ranks.enrolled, np.arange(18) % 3 != 0)
    assert np.isnan(ranks.rank[0])
    assert np.isnan(ranks.best_right[0])


@examples(60)
@given(st.data())
def test_ranks_in_blocks_are_those_of_the_slow_reference(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))
    people = st.lists(st.sampled_from("abcd"), min_size=rows, max_size=rows)
    probes, gallery = data.draw(people), data.draw(st.lists(st.sampled_from("abc"), min_size=columns, max_size=columns))
    seed, larger = data.draw(st.integers(0, 999)), data.draw(st.booleans())
    scores = np.random.default_rng(seed).integers(0, 4, (rows, columns)).astype(np.float32)
    ids = [f"i{n}" for n in range(max(rows, columns))]
    built = Matrix(
        "m",
        scores,
        Labels({"id": ids[:rows], "subject": probes}),
        Labels({"id": ids[:columns], "subject": gallery}),
        larger,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrices, "BLOCK", data.draw(st.sampled_from([1, 2 * columns, 1 << 20])))
        found = built.ranks().rank
    sign = 1 if larger else -1
    expected = [slow_rank(sign * scores[i], probes[i], gallery, i if i < columns else -1) for i in range(rows)]
    np.testing.assert_array_equal(found, expected)


def test_csv_labels_are_subjects_or_make_them(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(",a_1,b_1\na_2,0.9,0.1\nb_2,0.8,0.3\n", encoding="utf-8")
    plain = read_matrix(tmp_path / "m.csv")
    assert plain.rows.column("subject").tolist() == ["a_2", "b_2"]
    made = read_matrix(tmp_path / "m.csv", identity="^[a-z]")
    assert made.columns.column("subject").tolist() == ["a", "b"]
    assert made.ranks().rank.tolist() == [1.0, 2.0]


def test_csv_with_the_same_people_on_both_sides_compares_them(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(",a,b\na,0.9,0.1\nb,0.8,0.3\n", encoding="utf-8")
    assert read_matrix(tmp_path / "m.csv").ranks().rank.tolist() == [1.0, 2.0]


def test_tables_describe_named_rows_by_id_and_unnamed_ones_in_order(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(",g1,g2\nq1,1,2\nq2,3,4\n", encoding="utf-8")
    (tmp_path / "m.rows.csv").write_text("id,subject,day\nq2,b,2\nq1,a,1\n", encoding="utf-8")
    (tmp_path / "m.columns.jsonl").write_text(
        '{"id":"g1","subject":"a"}\n{"id":"g2","subject":"b"}\n', encoding="utf-8"
    )
    found = read_matrix(tmp_path / "m.csv")
    assert found.rows.column("day").tolist() == ["1", "2"]
    assert found.columns.column("subject").tolist() == ["a", "b"]


def test_parquet_names_rows_in_its_first_column(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet is an extra and is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet is an extra and is not installed")
    parquet.write_table(pyarrow.table({"id": ["a", "b"], "a": [1.0, 0.5], "b": [0.25, 0.75]}), tmp_path / "m.parquet")
    found = read_matrix(tmp_path / "m.parquet")
    assert found.scores.tolist() == [[1.0, 0.25], [0.5, 0.75]]
    assert found.columns.column("subject").tolist() == ["a", "b"]


def _npy(folder: Path, scores: np.typing.NDArray[np.generic]) -> Path:
    np.save(folder / "m.npy", scores)
    return folder / "m.npy"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"m.npy": b"\x93NUMPY rubbish"}, "m.npy: not a matrix in .npy format"),
        ({"m.npy": None}, "m.npy: no labels; write m.labels.csv beside it, with a column id"),
        ({"m.npy": None, "m.labels.csv": b"id,subject\na,1\n"}, "m.labels.csv: 1 labels, but m.npy has 2 rows"),
        (
            {"m.npy": None, "m.labels.csv": b"name\na\n"},
            "m.labels.csv:2: no id; give each row a unique one in column id",
        ),
        (
            {"m.npy": None, "m.labels.csv": b"id\na\na\n"},
            "m.labels.csv:3: id 'a' is also in line 2; ids must be unique",
        ),
        ({"m.npy": None, "labels.csv": b"id\n"}, "labels.csv: no rows"),
        ({"m.npy": None, "labels.csv": b"id\n\xff\n"}, "labels.csv:2: not UTF-8"),
    ],
)
def test_mistakes_say_place_and_remedy(tmp_path: Path, files: dict[str, bytes | None], words: str) -> None:
    for name, content in files.items():
        if content is None:
            _npy(tmp_path, np.ones((2, 2)))
        else:
            (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_matrix(tmp_path / "m.npy")
    assert words in str(caught.value)


@pytest.mark.parametrize("scores", [np.ones(4), np.ones((2, 2, 2)), np.array([["a"]]), np.ones((0, 2))])
def test_only_numbers_in_rows_and_columns_are_a_matrix(tmp_path: Path, scores: np.typing.NDArray[np.generic]) -> None:
    with pytest.raises(DataError, match="expected numbers in rows and columns"):
        read_matrix(_npy(tmp_path, scores))


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.array([[object()]]), allow_pickle=True)
    with pytest.raises(DataError, match="Python objects"):
        read_matrix(tmp_path / "m.npy")


def test_a_missing_score_is_named_by_its_pair(tmp_path: Path) -> None:
    path = write_faces(tmp_path)
    scores = np.load(path)
    scores[4, 9] = np.nan
    np.save(path, scores)
    with pytest.raises(DataError, match="faces: the score of 'p1_2' and 'p3_1' is not a number"):
        read_matrix(path).ranks()


def test_conditions_that_nothing_meets(tmp_path: Path) -> None:
    whole = read_matrix(write_faces(tmp_path))
    with pytest.raises(UsageError, match="faces: no probe has session=9"):
        whole.select([parse_condition("session=9")])
    with pytest.raises(UsageError, match="no column 'sesion' among the labels; did you mean 'session'"):
        whole.select([], [parse_condition("sesion=1")])
    with pytest.raises(HateError, match="a similarity matrix is a"):
        read_matrix(tmp_path / "m.png")
