"""Identification: similarity matrices as arguments, ranks of probes in them and in transcripts, and their curves."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.analysis.curves.cmc import ProbeRanks, match_curve, ranks_of_matrix, ranks_of_run
from harness.analysis.run_identity import run_names
from harness.api.curve_result import CurveResult
from harness.api.extension import extendable
from harness.api.transcripts import Given, OpenedTranscripts, listed, open_transcripts
from harness.errors import UsageError
from harness.files.conditions import parse_condition
from harness.files.outputs import refuse_inputs
from harness.files.toml_text import read_toml
from harness.matrices.matrix import Matrix
from harness.matrices.read import label_tables_beside, read_matrix
from harness.options.curves import CmcOptions, MatrixOptions, RankOptions
from harness.report.curve_view import CurveView
from harness.script.library import find_all
from harness.site.find_transcripts import Source
from harness.transcript.storage import is_parquet_transcript


@extendable
def rank_curves(view: CurveView, given: Given | Iterable[Given], *, options: CmcOptions) -> CurveResult:
    """Curves over the rank."""
    ranked, notes = ranks_of(given, options)
    return CurveResult(view, [match_curve(ranks, options) for ranks in ranked], options.confidence, notes)


def ranks_of(given: Given | Iterable[Given], options: RankOptions) -> tuple[list[ProbeRanks], Sequence[str]]:
    """Ranks of all probes, from wherever they are, in the order given; and notes on where that is."""
    several = listed(given)
    of_matrix = [is_matrix(item) for item in several]
    for name in ("labels", "distance", "identity", "exclude_diagonal"):
        if getattr(options, name) and not any(of_matrix):
            flag = f"--{name.replace('_', '-')}"
            first = several[0].name if isinstance(several[0], Source) else several[0]
            raise UsageError(f"{flag} is for a similarity matrix; {first} is a transcript or a test")
    matrices = iter(read_matrices([str(item) for item in several if is_matrix(item)], options))
    others = [item for item in several if not is_matrix(item)]
    opened = open_transcripts(others, options) if others else OpenedTranscripts([])
    runs = iter(opened.runs())
    found = [next(matrices) if is_of_matrix else next(runs) for is_of_matrix in of_matrix]
    algorithms = [item.name if isinstance(item, Matrix) else item.columns.header.algorithm.name for item in found]
    names = run_names(algorithms, [item.name if isinstance(item, Matrix) else item.stem for item in found])
    ranked = [
        ranks_of_matrix(item, options, diagonal=options.exclude_diagonal)
        if isinstance(item, Matrix)
        else ranks_of_run(item, name, options, partial=options.partial)
        for item, name in zip(found, names, strict=True)
    ]
    return ranked, opened.notes


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
    for path, distance in (file for name in several for file in _matrix_files(Path(name))):
        refuse_inputs(options.outputs(), [path, *(options.labels or label_tables_beside(path))])
        larger = not (options.distance or distance)
        read.append(read_matrix(path, options.labels, larger_is_better=larger, identity=options.identity))
    return [matrix.select(probes, gallery) for matrix in read]


def _matrix_files(path: Path) -> list[tuple[Path, bool]]:
    """Files, and whether the test that they belong to says that they are distances."""
    if path.exists() or path.is_absolute() or len(path.parts) > 2:
        return [(path, False)]
    script = next((entry.path for entry in find_all() if entry.name == path.parts[0]), None)
    if script is None:
        return [(path, False)]
    distance = read_toml(script)[0]["test"].get("larger_is_better") is False
    if len(path.parts) == 2:
        return [(script.parent / path.name, distance)]
    beside = sorted(script.parent.glob("*.npy"))
    if not beside:
        raise UsageError(f"{path}: a test without similarity matrices (.npy) beside its script")
    return [(file, distance) for file in beside]
