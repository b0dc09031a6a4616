"""A similarity matrix as an interface: every answer is a row of the matrix, and rows are ranked in blocks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np
import numpy.typing as npt

from harness.errors import InterfaceError
from harness.files.digest import file_sha256
from harness.interface.contract import Interface, Session, Setup
from harness.matrices.matrix import Identities, Labels, Matrix, first_candidates, index_of_ids, rank_probes
from harness.matrices.read import KINDS, read_matrix
from harness.model import Answer, Case, ErrorKind, Question, Reply, plain_text
from harness.tasks.rank import Gallery

# Scores ranked at a time.
BLOCK = 1 << 22


@dataclass(frozen=True, kw_only=True)
class MatrixInterface(Interface):
    """A file of distances or similarities; `cases` are those of the test to answer."""

    kind = "matrix"
    is_file = True

    path: Path
    matrix: Matrix = field(repr=False)
    cases: Iterable[Case] = ()
    gallery: Gallery | None = None

    @property
    def files(self) -> Sequence[Path]:
        return [self.path]

    def answering(self, cases: Iterable[Case], gallery: Gallery | None) -> Interface:
        """The rows of these cases."""
        return replace(self, cases=cases, gallery=gallery)

    def open(self, setup: Setup) -> Session:
        """Find the gallery among the columns."""
        if self.gallery is None:
            raise InterfaceError(f"{self.path}: a matrix answers rank tests, and {setup.test} is not one")
        return MatrixSession(self.matrix, self.cases, self.gallery)


def load_matrix(text: str, folder: Path, *, larger_is_better: bool) -> MatrixInterface:
    """The matrix of `matrix:TEXT`: a path, or a file in the folder of the test."""
    path = next((path for path in (Path(text), folder / text) if path.is_file()), None)
    if path is None:
        beside = sorted(file.name for file in folder.glob("*") if file.suffix in KINDS and "label" not in file.name)
        hint = f"; beside the script: {', '.join(beside)}" if beside else ""
        raise InterfaceError(f"--interface matrix:{text}: no such file{hint}")
    matrix = read_matrix(path, larger_is_better=larger_is_better)
    # The name of the file is the name of the algorithm.
    return MatrixInterface(name=matrix.name, sha256=file_sha256(path), path=path, matrix=matrix)


class MatrixSession:
    """Looks rows up and ranks them."""

    def __init__(self, matrix: Matrix, cases: Iterable[Case], gallery: Gallery) -> None:
        self._gallery = gallery
        self._cases = {case.id: case for case in cases}
        columns = _find([_names(entry) for entry in gallery.entries], matrix.columns)
        if (columns < 0).any():
            missing = gallery.entries[int((columns < 0).argmax())].id
            raise InterfaceError(f"{matrix.name}: no column for gallery image '{missing}'; its labels have other ids")
        whole = np.array_equal(columns, np.arange(len(matrix.columns)))
        self._matrix = matrix.take(None, None if whole else columns)

    def replies(self, questions: Iterator[Question]) -> Iterator[Reply]:
        """Blocks of rows."""
        size = max(1, BLOCK // len(self._gallery))
        while block := list(islice(questions, size)):
            start = perf_counter()
            cases = [self._cases[question.id] for question in block]
            rows = _find([_names(case) for case in cases], self._matrix.rows)
            known = np.flatnonzero(rows >= 0)
            answers = iter(self._answers([cases[at] for at in known], rows[known]) if known.size else [])
            share = (perf_counter() - start) / len(block)
            for question, row in zip(block, rows.tolist(), strict=True):
                if row >= 0:
                    yield Reply(question, next(answers), None, "", share)
                else:
                    text = f"{self._matrix.name} has no row for this case; its labels have other ids"
                    yield Reply(question, None, ErrorKind.INTERFACE, text, share)

    def close(self) -> None:
        """Nothing to end."""

    def _answers(self, cases: Sequence[Case], rows: npt.NDArray[np.intp]) -> list[Answer]:
        gallery = self._gallery
        persons = np.array([gallery.person_of(case) if case.positive else -1 for case in cases])
        twins = np.array([gallery.twin(case) for case in cases])
        part, codes = self._matrix.take(rows), np.array(gallery.codes)
        identities = Identities(persons, codes, twins)
        ranks = rank_probes(part, identities)
        # A wrong identity with the same score as the right one comes first.
        first = codes[first_candidates(part, identities, np.where(ranks.rank > 1, persons, -1))]
        numbers = zip(ranks.rank.tolist(), ranks.best_right.tolist(), ranks.best_wrong.tolist(), strict=True)
        answers = []
        for case, code, (rank, right, wrong) in zip(cases, first.tolist(), numbers, strict=True):
            score = _or_none(right if case.positive else wrong)
            known_rank = None if np.isnan(rank) else int(rank)
            answers.append(Answer(gallery.names[code], score, known_rank, _or_none(wrong)))
        return answers


def _or_none(score: float) -> float | None:
    return score if np.isfinite(score) else None


def _names(case: Case) -> tuple[str, str]:
    """The names that a row or column of a case may have: its input, or its id."""
    return plain_text(case.input), case.id


def _find(names: Sequence[tuple[str, str]], labels: Labels) -> npt.NDArray[np.intp]:
    by_input = index_of_ids(np.array([name for name, _ in names], dtype=np.str_), labels.ids)
    by_id = index_of_ids(np.array([name for _, name in names], dtype=np.str_), labels.ids)
    index: npt.NDArray[np.intp] = np.where(by_input >= 0, by_input, by_id)
    return index
