"""Similarity matrices as arguments: a file, or a test that has matrices beside its script."""

from collections.abc import Sequence
from pathlib import Path

from harness.errors import UsageError
from harness.files.conditions import parse_condition
from harness.files.outputs import refuse_inputs
from harness.files.toml_read import read_toml
from harness.matrices.matrix import Matrix
from harness.matrices.read import label_tables_beside, read_matrix
from harness.options.curves import MatrixOptions
from harness.script.library import find_all
from harness.transcript.storage import is_parquet_transcript

# Suffixes of similarity matrices.
MATRICES = (".npy", ".csv", ".tsv", ".parquet")


def is_matrix(given: object) -> bool:
    """Whether a similarity matrix is meant, by its suffix; Parquet is a form of transcripts too."""
    named = isinstance(given, (str, Path)) and str(given).lower().endswith(MATRICES) and "://" not in str(given)
    return named and not is_parquet_transcript(Path(str(given)))


def read_matrices(names: str | Path | Sequence[str | Path], options: MatrixOptions) -> list[Matrix]:
    """The matrix or matrices, with the gallery and the probes that were asked for.

    A name is that of a file, or of a test that has matrices beside its script: TEST for all of them, TEST/FILE for one.
    """
    probes, gallery = (tuple(map(parse_condition, texts)) for texts in (options.probe, options.gallery))
    read = []
    several = [names] if isinstance(names, (str, Path)) else names
    for path, distance in (found for name in several for found in _matrix_files(Path(name))):
        refuse_inputs(options.outputs(), [path, *(options.labels or label_tables_beside(path))])
        larger = not (options.distance or distance)
        read.append(read_matrix(path, options.labels, larger_is_better=larger, identity=options.identity))
    return [matrix.select(probes, gallery) for matrix in read]


def _matrix_files(path: Path) -> list[tuple[Path, bool]]:
    """Files, and whether the test that they belong to says that they are distances."""
    if path.exists() or path.is_absolute() or len(path.parts) > 2:
        return [(path, False)]
    script = next((found.path for found in find_all() if found.name == path.parts[0]), None)
    if script is None:
        return [(path, False)]
    distance = read_toml(script)[0]["test"].get("larger_is_better") is False
    if len(path.parts) == 2:
        return [(script.parent / path.name, distance)]
    beside = sorted(script.parent.glob("*.npy"))
    if not beside:
        raise UsageError(f"{path}: a test without similarity matrices (.npy) beside its script")
    return [(file, distance) for file in beside]
