"""Scores of verification as biometrics and speech write them: fields between blanks, a trial a line.

Four columns, `claimed real label score`, as Bob and others have them: a trial is genuine if both identities are the
same. NIST style, `model segment score`: a trial list (`--key`) says which trials are targets, or the third field of
four does, `model segment target score`.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.errors import ForeignError, UsageError
from harness.files.mistakes import Mistakes
from harness.model import IDENTITIES, TRIAL_SIDES, both_identities
from harness.tasks.score import SCORE
from harness.transcript.importing.contract import CORRECT, UNNAMED, ImportedAnswer, ImportedRun, ImportOptions, Reader
from harness.transcript.importing.file import MISSING, ForeignFile, Line, fields_of, first_lines, is_number, shown

_KINDS = {
    "target": True,
    "tgt": True,
    "genuine": True,
    "mated": True,
    "1": True,
    "true": True,
    "nontarget": False,
    "non-target": False,
    "imp": False,
    "impostor": False,
    "imposter": False,
    "nonmated": False,
    "non-mated": False,
    "0": False,
    "false": False,
}
# Of these, what may as well be the label of what was compared, such as the number of an image.
_FIGURES = ("0", "1", "true", "false")
_HEADER = "modelid"


def _all_lines(lines: Sequence[Sequence[str]], count: int) -> bool:
    return bool(lines) and all(len(line) == count and is_number(line[-1]) for line in lines)


def _readings(file: ForeignFile) -> tuple[bool, bool]:
    """Whether lines of four fields may have a label in the third, and whether it may say what is a target.

    Words decide by the first lines. 0 and 1 may be either: then all lines count. A label leaves both genuine and
    impostor trials by the identities; where both readings mean the same, it is a list of trials.
    """
    lines = first_lines(file)
    if not _all_lines(lines, 4):
        return False, False
    kinds = {line[2].lower() for line in lines}
    if not kinds <= _KINDS.keys():
        return True, False
    if not kinds <= set(_FIGURES):
        return False, True
    by_identity, by_figure, differ = set[bool](), set[bool](), False
    for line in file.raw_lines():
        fields = line.split()
        # A line that is too short or too long is reported when all are read.
        if len(fields) == 4:
            kind = _KINDS.get(fields[2].decode(errors="replace").lower())
            if kind is None:
                return True, False
            genuine = fields[0] == fields[1]
            by_identity.add(genuine)
            by_figure.add(kind)
            differ |= genuine != kind
    labels, targets = len(by_identity) == 2, len(by_figure) == 2
    return (labels and (differ or not targets)), targets or not labels


def is_four_columns(file: ForeignFile) -> bool:
    """Whether every line is claimed, real, label and score."""
    return _readings(file)[0]


def is_trials(file: ForeignFile) -> bool:
    """Whether every line is model, segment and score, perhaps with the kind of trial; or there is a header."""
    lines = first_lines(file)
    if lines and lines[0][0].lower() == _HEADER:
        return True
    return _all_lines(lines, 3) or _readings(file)[1]


class _TrialScores:
    """Collects trials, and reports all mistakes of the file at once."""

    def __init__(self, source: ForeignFile, options: ImportOptions) -> None:
        if options.success_at is None:
            raise ForeignError(
                f"{source.name}: scores need --success-at X, the lowest score that is accepted; any will do for curves "
                "and for --at eer"
            )
        psu = set((options.psu or "").split(","))
        for names in (IDENTITIES, TRIAL_SIDES):
            if psu >= set(names):
                raise UsageError(both_identities(names))
        self.source, self.at = source, options.success_at
        self.mistakes = Mistakes(source.name)
        self.results: list[ImportedAnswer] = []

    def add(self, number: int, trial: str, score: str, positive: bool, expect: str, columns: Mapping[str, str]) -> None:
        """A trial: its id, its score as text, whether the claim is true, and what it is of."""
        value = self._score(number, score)
        accepted = value is not None and value >= self.at
        self.results.append(
            ImportedAnswer(
                id=trial,
                location=f"{self.source.name}:{number}",
                marks={CORRECT: float(accepted == positive)},
                # The truth is a part of the test's identity, as in a table of predictions.
                expect=expect,
                positive=positive,
                actual=value,
                score=value,
                columns=columns,
            )
        )

    def add_named(self, number: int, names: tuple[str, ...], score: str, *, target: bool) -> None:
        """A trial of a model and a segment."""
        columns = dict(zip(TRIAL_SIDES, names, strict=False))
        self.add(number, "/".join(names), score, target, "target" if target else "nontarget", columns)

    def _score(self, number: int, text: str) -> float | None:
        if text.lower() in MISSING:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.mistakes.add(f"score {shown(text)} is not a finite number", location=f"line {number}")
            return None
        return value

    def run(self, tool: str, notes: Sequence[str] = ()) -> ImportedRun:
        self.mistakes.raise_if_any(ForeignError)
        kinds = {result.positive for result in self.results}
        if len(kinds) < 2:
            what = "genuine" if kinds == {False} else "impostor"
            raise ForeignError(f"{self.source.name}: no {what} trial; are these columns what they seem to be?")
        return ImportedRun(
            self.source.name,
            UNNAMED,
            self.source.stem,
            self.results,
            tool=tool,
            verdict=CORRECT,
            graded=False,
            task=SCORE.name,
            params={"threshold": self.at},
            notes=notes,
        )


def read_four_columns(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """Each line as a trial: the claimed and the real identity, what was compared, the score."""
    if all(len(line) > 3 and line[1] in ("0", "Q0") and line[3].isdecimal() for line in first_lines(source)):
        raise ForeignError(
            f"{source.name}: judgements of relevance, not results; import the run, with --key {source.name}"
        )
    trials, lines = _TrialScores(source, options), list[Line]()
    for number, fields in fields_of(source.data, source.name):
        if len(fields) != 4:
            trials.mistakes.add(f"{len(fields)} fields, expected claimed real label score", location=f"line {number}")
            continue
        lines.append((number, fields))
    # A label names what was compared; one that only numbers the images of a person does not.
    unique = len({(fields[0], fields[2]) for _, fields in lines}) == len({tuple(fields[:3]) for _, fields in lines})
    for number, (claimed, real, label, score) in lines:
        trial = f"{claimed}/{label}" if unique else f"{claimed}/{real}/{label}"
        trials.add(number, trial, score, claimed == real, real, dict(zip(IDENTITIES, (claimed, real), strict=True)))
    return [trials.run("four-column scores")]


def read_trials(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """Each line as a trial, with the kind of trial from its own third field or from the list of trials."""
    if options.reader is None and options.key is None and all(_readings(source)):
        raise ForeignError(
            f"{source.name}: the third column may be a label, or say what is a target, and the two do not agree; say "
            "which: --from scores (claimed real label score: genuine if both identities are the same) or --from trials "
            "(model segment target score)"
        )
    trials, known = _TrialScores(source, options), None if options.key is None else read_key(options.key)
    used: set[tuple[str, ...]] = set()
    for number, fields in fields_of(source.data, source.name):
        if number == 1 and fields[0].lower() == _HEADER:
            continue
        names, kind = _trial_of(fields, known)
        if known is None and kind is None:
            raise ForeignError(
                f"{source.name}:{number}: nothing says whether this is a target; name the list of trials with --key"
            )
        if kind is None:
            trials.mistakes.add(f"'{' '.join(names)}' is not in the list that --key names", location=f"line {number}")
            continue
        used.add(names)
        trials.add_named(number, names, fields[-1], target=kind)
    notes = []
    if known is not None and len(used) < len(known):
        for names in [names for names in known if names not in used]:
            trials.add_named(0, names, "nan", target=known[names])
        notes.append(f"{len(known) - len(used):,} of {len(known):,} trials have no score; each counts as a refusal")
    return [trials.run("a list of trials", notes)]


def _trial_of(
    fields: Sequence[str], known: Mapping[tuple[str, ...], bool] | None
) -> tuple[tuple[str, ...], bool | None]:
    """The names of a trial, and whether it is a target; None if nothing says so."""
    if known is not None:
        names = tuple(fields[:-1])
        return (names, known[names]) if names in known else (names[:2], known.get(names[:2]))
    return tuple(fields[:2]), _KINDS.get(fields[2].lower()) if len(fields) == 4 else None


def read_key(path: Path) -> dict[tuple[str, ...], bool]:
    """A list of trials: names and the kind of each, at the end or, as a 0 or 1, at the beginning."""
    file, kinds = ForeignFile(path), dict[tuple[str, ...], bool]()
    mistakes = Mistakes(f"--key {file.name}")
    for number, fields in fields_of(file.data, file.name):
        if number == 1 and fields[0].lower() == _HEADER:
            continue
        last, first = fields[-1].lower(), fields[0]
        if len(fields) > 2 and last in _KINDS:
            names, kind = tuple(fields[:-1]), _KINDS[last]
        elif len(fields) > 2 and first in ("0", "1"):
            names, kind = tuple(fields[1:]), first == "1"
        else:
            mistakes.add("expected model, segment and target or nontarget", location=f"line {number}")
            continue
        if kinds.setdefault(names, kind) != kind:
            mistakes.add(f"trial '{' '.join(names)}' is both target and nontarget", location=f"line {number}")
    mistakes.raise_if_any(ForeignError)
    return kinds


# A file that may be either is given to the one that can be told more about it, which asks.
READERS: tuple[Reader, ...] = (
    Reader("trials", "scores of trials (model segment score)", is_trials, read_trials, takes_key=True),
    Reader("scores", "scores in four columns (claimed real label score)", is_four_columns, read_four_columns),
)
