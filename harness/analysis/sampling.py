"""How the cases were sampled: the script's design, or the user's options; and estimates as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np

from harness.analysis.align import AlignedRuns
from harness.errors import ScriptError, TranscriptError, UsageError
from harness.model import TRIAL_SIDES, both_identities, plural, psu_clash
from harness.options import DesignOptions
from harness.params import nearest
from harness.stats.arrays import BoolArray, FloatArray, IntArray, positions_in_order
from harness.stats.estimate import Estimate
from harness.stats.gaps import GapDifference
from harness.stats.replication.sample import LoneStratum, Sample, UnitInTwoStrata, make_sample
from harness.transcript.columns import Coded
from harness.transcript.format import Header

# Pairs of columns that are looked at for the identities of a comparison, and cases that a first look takes.
_MAX_COLUMN_PAIRS, _HEAD = 200, 256


@dataclass(frozen=True)
class Sampling:
    """A sample, with the names of its stratum, PSU and weights."""

    sample: Sample
    stratum: str | None
    psu: str | None
    weights: str
    # The strata by name before any were joined, and their shares of the weight.
    shares: dict[str, float] = field(default_factory=dict)
    # The columns of the two identities that each case compares, if there are such.
    identities: tuple[str, str] | None = None
    # The fewest and the most answers to a case.
    answer_range: tuple[int, int] = (1, 1)

    @property
    def known(self) -> bool:
        """Whether there is any design: a stratum, a PSU, or weights."""
        return self.stratum is not None or self.psu is not None or self.is_weighted

    @property
    def is_weighted(self) -> bool:
        """Whether cases count by weights."""
        return self.weights != "cases"

    @property
    def target(self) -> str:
        """What an interval is for, as in the JSON output."""
        units = "new cases" if self.psu is None else f"new {plural(self.psu)}"
        return units if self.stratum is None else f"these strata, {units}"


@dataclass(frozen=True)
class _Grouping:
    """Groups of cases; codes are in the order of the labels, so that neighbouring codes have neighbouring names."""

    name: str
    codes: IntArray
    labels: Sequence[str]


@dataclass(frozen=True)
class _CaseDesign:
    """The stratum, the PSU and the weight of every case; no weights if all weigh the same."""

    test: str
    cases: int
    stratum: _Grouping | None
    psu: _Grouping | None
    weights: str = "cases"
    values: FloatArray | None = None
    # The ranks of cases that are units, in the order of their ids; None if they are in it, or it does not matter.
    order: IntArray | None = None

    def sampling(self, lone: str, answers: int) -> Sampling:
        """These cases as a sample, with `answers` answers per case."""
        stratum, psu = self.stratum, self.psu
        if psu is not None and self.cases > 1 and (psu.codes == psu.codes[0]).all():
            raise TranscriptError(
                f"{self.test}: all cases are of one {psu.name}, which does not show how much results vary; --psu none "
                "treats cases as independent (hate rate and hate compare have it)"
            )
        sample, shares = replace(self._sample(lone), answers=answers), dict[str, float]()
        if stratum is not None:
            joined = tuple(tuple(stratum.labels[int(name)] for name in names) for names in sample.collapsed)
            sample = replace(sample, collapsed=joined)
            sums = (np.bincount(stratum.codes, weights=sample.weights) / sample.weights.sum()).tolist()
            shares = {stratum.labels[code]: sums[code] for code in np.flatnonzero(np.bincount(stratum.codes)).tolist()}
        return Sampling(
            sample=sample,
            stratum=None if stratum is None else stratum.name,
            psu=None if psu is None else psu.name,
            weights=self.weights,
            shares=shares,
        )

    def _sample(self, lone: str) -> Sample:
        """The sample; in a TranscriptError, groups have their names instead of numbers."""
        strata, units = (None if groups is None else groups.codes for groups in (self.stratum, self.psu))
        units = self.order if units is None else units
        try:
            sample = make_sample(self.cases, strata=strata, units=units, weights=self.values, lone=lone)
            return replace(sample, clustered=self.psu is not None)
        except UnitInTwoStrata as error:
            unit, pair = self._label(self.psu, error.unit), [self._label(self.stratum, name) for name in error.strata]
            raise TranscriptError(f"{self.test}: {psu_clash(unit, (pair[0], pair[1]))}") from None
        except LoneStratum as error:
            if self.stratum is None:
                raise TranscriptError(f"{self.test}: there is a single unit, and a variance needs two") from None
            label = self._label(self.stratum, error.stratum)
            raise TranscriptError(f"{self.test}: stratum '{label}' {error.problem}") from None
        except ValueError as error:
            raise TranscriptError(f"{self.test}: {error}") from None

    @staticmethod
    def _label(groups: _Grouping | None, code: str) -> str:
        return code if groups is None else groups.labels[int(code)]


def take_sample(aligned: AlignedRuns, options: DesignOptions) -> Sampling:
    """The cases as a sample."""
    identities = identity_columns(aligned)
    recorded = aligned.headers[0].design.get("psu")
    units = recorded if isinstance(recorded, list) else str(recorded or "").split(",")
    units = units if options.psu is None else list(options.psu)
    if identities is not None and set(identities) <= set(units):
        # The pair of both identities would make all comparisons independent.
        raise UsageError(both_identities(identities, "--psu" if options.psu is not None else "recorded PSU"))
    stratum = _grouping(aligned, options.stratum, "stratum")
    psu = _grouping(aligned, options.psu, "psu")
    if psu is None and aligned.repeated and (ids := aligned.recorded("id")) is not None:
        # Several answers to one case are not several cases.
        psu = _Grouping("case", *_sorted(ids))
    name, weights = _weights(aligned, options.weights, stratum)
    # Where halves of strata are drawn at random, it must not matter in which order the cases were recorded.
    order = positions_in_order(aligned.ids) if stratum is not None and psu is None else None
    design = _CaseDesign(aligned.headers[0].test.name, aligned.n, stratum, psu, name, weights, order)
    sampling = design.sampling(options.lone, aligned.answers)
    return replace(sampling, identities=identities, answer_range=aligned.answer_range)


def identity_columns(aligned: AlignedRuns) -> tuple[str, str] | None:
    """The columns of the two identities of each comparison, as verification has them; None if there are none.

    Two columns that say the same exactly where the claim is true, or the sides of a list of trials.
    """
    positive = aligned.positive
    if positive.all() or not positive.any():
        return None
    columns = {name: column for name in aligned.cases.columns if (column := aligned.column(name)) is not None}
    full = {name: column for name, column in columns.items() if column.codes.min(initial=0) >= 0}
    for pair in islice(combinations(full, 2), _MAX_COLUMN_PAIRS):
        if _agree_where(full[pair[0]], full[pair[1]], positive):
            return pair
    # A side that differs in every case is no side.
    if all(name in full and len(full[name].labels) < aligned.n for name in TRIAL_SIDES):
        return TRIAL_SIDES
    return None


def _agree_where(a: Coded, b: Coded, where: BoolArray) -> bool:
    """Whether two columns have the same label in these cases, and different ones in all others."""
    head = range(min(len(where), _HEAD))
    if any((a.labels[a.codes[i]] == b.labels[b.codes[i]]) != where[i] for i in head):
        return False
    number = {label: code for code, label in enumerate(a.labels)}
    table = np.array([number.get(label, -1) for label in b.labels], dtype=np.int64)
    return bool(((a.codes == table[b.codes]) == where).all())


def sample_units(sums: Mapping[tuple[Any, Any], Sequence[int]], header: Header) -> tuple[Sampling, BoolArray]:
    """The tally of a run, by (stratum, PSU), as a sample, and which of its cases are successes.

    The cases of a unit are in no particular order, on which no rate depends. Without a PSU, each case is a unit.
    """
    sizes, hits = (np.array([tally[side] for tally in sums.values()], dtype=np.intp) for side in (0, 1))
    units = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    declared, weights = header.design, header.design.get("weights", "cases")
    stratum = _tallied([key[0] for key in sums], units, _declared_name(declared.get("stratum"), "stratum"))
    psu = _tallied([key[1] for key in sums], units, _declared_name(declared.get("psu"), "case"))
    design = _CaseDesign(header.test.name, len(units), stratum, psu)
    if weights != "cases":
        name, values = _strata_weights(weights, stratum)
        design = replace(design, weights=name, values=values)
    answers = header.repeat if isinstance(header.repeat, int) else 1
    return design.sampling("collapse", answers), np.asarray(within < hits[units])


def _tallied(labels: Sequence[Any], units: IntArray, name: str) -> _Grouping | None:
    """The groups of a tally, for each of its cases; None if there are none."""
    if not all(labels):
        return None
    known = sorted(set(labels))
    table = {label: number for number, label in enumerate(known)}
    return _Grouping(name, np.array([table[label] for label in labels], dtype=np.intp)[units], known)


def _declared_name(declared: Any, otherwise: str) -> str:
    return " x ".join(declared) if isinstance(declared, list) else str(declared or otherwise)


def _grouping(aligned: AlignedRuns, chosen: Sequence[str] | None, kind: str) -> _Grouping | None:
    """The groups of the cases: by the chosen columns, else as recorded."""
    if chosen is not None:
        if list(chosen) == ["none"]:
            return None
        codes, labels = _sorted(_named(aligned, chosen[0]))
        # The first label is the empty one.
        empty = codes == 0
        for name in chosen[1:]:
            next_codes, next_labels = _sorted(_named(aligned, name))
            empty &= next_codes == 0
            pairs, codes = np.unique(codes * len(next_labels) + next_codes, return_inverse=True)
            labels = [f"{labels[pair // len(next_labels)]} x {next_labels[pair % len(next_labels)]}" for pair in pairs]
        if kind == "psu" and empty.any():
            where, names = aligned.ids[int(empty.argmax())], " and ".join(chosen)
            raise UsageError(f"--psu: case '{where}' has no value for {names}; cases without one would form one unit")
        return _Grouping(" x ".join(chosen), codes, labels)
    recorded = aligned.recorded(kind)
    if recorded is None or recorded.codes.max(initial=-1) < 0:
        return None
    if recorded.codes.min() < 0:
        where = aligned.ids[int((recorded.codes < 0).argmax())]
        raise TranscriptError(f"{aligned.names[0]}: case '{where}' has no {kind}, others have one")
    name = _declared_name(aligned.headers[0].design.get(kind), kind)
    return _Grouping(name, *_sorted(recorded))


def _named(aligned: AlignedRuns, name: str) -> Coded:
    column = aligned.column(name)
    if column is None:
        raise UsageError(f"no column '{name}' in these transcripts; {nearest(name, aligned.column_names())}")
    return column


def _sorted(column: Coded) -> tuple[IntArray, Sequence[str]]:
    """A column as numbers into its sorted labels; a case without a value has the empty label."""
    labels = list(column.labels)
    if "" not in labels:
        labels.append("")
    # In the order of the file they are often nearly sorted, which is quick.
    order = sorted(range(len(labels)), key=labels.__getitem__)
    # The empty label comes first; it is also that of -1, the last entry.
    table = np.zeros(len(labels) + 1, dtype=np.intp)
    table[order] = np.arange(len(labels))
    return table[column.codes], [labels[code] for code in order]


def _weights(aligned: AlignedRuns, chosen: str | None, stratum: _Grouping | None) -> tuple[str, FloatArray | None]:
    """One weight per case; None if all weigh the same."""
    declared = aligned.headers[0].design.get("weights", "cases") if chosen is None else chosen
    if declared == "cases":
        return "cases", None
    from harness.script.schema import is_table  # with pydantic, which takes long to import

    name = str(declared)
    by_stratum = declared == "equal" or isinstance(declared, dict)
    if by_stratum or is_table(name) or Path(name).is_file():
        return _strata_weights(declared, stratum)
    column = aligned.column(name)
    if column is None:
        raise UsageError(
            f"weights '{declared}': not cases, equal, a file or a column; {nearest(name, aligned.column_names())}"
        )
    try:
        values = np.array([float(label) for label in column.labels] + [np.nan])[column.codes]
    except ValueError:
        raise UsageError(f"weights '{declared}': a column of numbers is needed") from None
    if not (np.isfinite(values) & (values >= 0)).all() or not values.any():
        raise UsageError(f"weights '{declared}': every case needs a number from 0 up, and one must be above 0")
    return name, _scaled(values)


def _scaled(weights: FloatArray) -> FloatArray:
    """Scale extreme weights: only their proportions count, and squares of numbers beyond 1e150 would overflow."""
    largest = float(weights.max())
    return weights if 1e-100 < largest < 1e100 else weights / largest


def _strata_weights(declared: Any, stratum: _Grouping | None) -> tuple[str, FloatArray]:
    """The weight of each stratum, equal or from a table in the script or in a file, divided among its cases."""
    if stratum is None:
        raise UsageError("weights of strata need a stratum; name one with --stratum")
    sizes = np.bincount(stratum.codes, minlength=len(stratum.labels))
    if declared == "equal":
        return "equal", np.asarray(1.0 / sizes[stratum.codes])
    table = declared if isinstance(declared, dict) else _read_weights(str(declared))
    unknown = sorted({stratum.labels[code] for code in np.flatnonzero(sizes).tolist()} - set(table))
    if unknown:
        raise UsageError(f"the table of weights has no stratum '{unknown[0]}'; it has {', '.join(sorted(table)[:10])}")
    per_label = np.array([table.get(label, 0.0) for label in stratum.labels])
    if not per_label[stratum.codes].any():
        raise UsageError("the table of weights has 0 for every stratum here; one must be above 0")
    return "table", _scaled(np.asarray(per_label[stratum.codes] / sizes[stratum.codes]))


def _read_weights(table: str) -> dict[str, float]:
    from harness.script.design import read_weights

    try:
        return read_weights(Path(), table)
    except ScriptError as error:
        raise UsageError(f"--weights {error}") from None


def replication_json(estimate: Estimate | None, sampling: Sampling) -> dict[str, Any] | None:
    """An estimate by the design, and how it was computed."""
    if estimate is None:
        return None
    return {
        "method": estimate.method,
        "target": sampling.target,
        "stratum": sampling.stratum,
        "psu": sampling.psu,
        "weights": sampling.weights,
        "strata": estimate.strata,
        "units": estimate.units,
        "replicates": estimate.replicates,
        "groupings": estimate.groupings,
        "collapsed": sampling.sample.collapsed,
        "fay": estimate.fay,
        "seed": estimate.seed,
        **estimate_json(
            estimate, "se", "df", "interval", "p_value", "p_adjusted", "p_sign_flip", "design_effect", "icc"
        ),
    }


def estimate_json(estimate: Estimate | GapDifference | None, *fields: str, value: str = "estimate") -> dict[str, Any]:
    """The number under the key `value`, and the named fields of its error; nulls without an estimate."""
    if estimate is None:
        return dict.fromkeys((value, *fields))
    return {value: estimate.value, **{name: getattr(estimate, name) for name in fields}}
