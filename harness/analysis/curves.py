"""Curves of transcripts: one for each transcript, each swept algorithm, or each repeated algorithm."""

from collections.abc import Sequence
from typing import Any

import msgspec

from harness.analysis.align import Run, names_of
from harness.analysis.curve import Curve
from harness.analysis.curve_scores import curve_elements
from harness.analysis.element_curve import curve_of_elements
from harness.analysis.mean_curve import curve_of_repeats
from harness.analysis.run_names import run_names
from harness.analysis.score_curve import curve_of_scores
from harness.analysis.sweep_curve import curve_of_sweep
from harness.errors import TranscriptError, UsageError
from harness.options.curves import CurveOptions
from harness.transcript.settings import differing, in_words


def make_curves(runs: Sequence[Run], options: CurveOptions, *, precise: bool = False) -> list[Curve]:
    """The curves of the transcripts; `swept` and `repeated` join those of one algorithm.

    `precise` if the average precision gets an interval too, which takes longer.
    """
    swept = options.swept
    if swept is not None and options.repeated:
        raise UsageError("--swept and --repeated exclude one another")
    if swept is not None:
        return [curve_of_sweep(own, name, swept, options) for name, own in _settings(runs, swept).items()]
    if options.repeated:
        return [_repeated(own, name, options) for name, own in _of_algorithms(runs).items()]
    curves = []
    for run, name in zip(runs, names_of(runs), strict=True):
        elements = curve_elements(run.columns, run.source)
        if elements is None:
            curves.append(curve_of_scores(run, name, options, precise=precise))
        else:
            curves.append(curve_of_elements(run, elements, name, options, precise=precise))
    return curves


def _repeated(runs: Sequence[Run], name: str, options: CurveOptions) -> Curve:
    first = runs[0].columns.header
    if (elements := curve_elements(runs[0].columns, runs[0].source)) is not None:
        raise UsageError(f"--repeated: {name} has scores of {elements.words}; leave it out for a curve for each run")
    for run in runs[1:]:
        if run.columns.header.params != first.params:
            raise TranscriptError(
                f"{run.source}: its parameters differ from those of {runs[0].source}; --repeated is for one algorithm "
                "on different data, --swept PARAM for one algorithm with different parameters"
            )
    return curve_of_repeats(runs, name, options)


def _settings(runs: Sequence[Run], swept: str) -> dict[str, list[Run]]:
    """Runs that differ only in the swept parameter, by a name that has their other parameters if these vary."""
    settings: dict[str, list[Run]] = {}
    for algorithm, own in _of_algorithms(runs).items():
        groups: dict[bytes, list[Run]] = {}
        for run in own:
            groups.setdefault(msgspec.json.encode(_others(run, swept), order="sorted"), []).append(run)
        apart = differing([_others(group[0], swept) for group in groups.values()])
        names = run_names([algorithm] * len(apart), [f"{algorithm} {in_words(params)}".rstrip() for params in apart])
        settings |= dict(zip(names, groups.values(), strict=True))
    return settings


def _others(run: Run, swept: str) -> dict[str, Any]:
    return {name: value for name, value in run.columns.header.params.items() if name != swept}


def _of_algorithms(runs: Sequence[Run]) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.columns.header.algorithm.name, []).append(run)
    return groups
