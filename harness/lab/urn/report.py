"""What `hate urn` found: JSON and tables for programs, tables and sentences for people."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from harness.api.result import PictureResult
from harness.errors import quoting
from harness.lab.urn.analysis import UrnExperiment, UrnRow
from harness.lab.urn.statistics import DESIGNS, variance_interval
from harness.options import PictureOptions
from harness.report.blocks import (
    NONE,
    Block,
    Column,
    ExactNumber,
    Heading,
    Output,
    P,
    Paragraphs,
    Table,
    plain_table_of,
    records_of,
    table_of,
)
from harness.report.numbers import p_text
from harness.report.plots.canvas import Picture
from harness.report.plots.style import COLOURS, GREY, logarithmic
from harness.report.text import safe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {"st": "stratified", "srs": "simple random", "cl": "cluster"}


@dataclass(frozen=True, repr=False)
class UrnResult(PictureResult):
    """Which way of sampling explains how a rate varies from trial to trial."""

    experiment: UrnExperiment
    remarks: Sequence[str] = ()

    def payload(self) -> Any:
        experiment, options = self.experiment, self.experiment.options
        return {
            "rows": list(records_of(experiment.rows, _columns(), Output.JSON)),
            "group": options.group,
            "trial": options.trial,
            "shuffle": options.shuffle,
            "resample": options.resample,
            "design": options.proposed,
            "groups": experiment.groups,
            "trials": experiment.trials,
            "elements": experiment.elements,
            "runs": options.runs,
            "permutations": options.permutations,
            "alpha": options.alpha,
            "seed": options.seed,
            "next": experiment.next,
        }

    def blocks(self) -> Sequence[Block]:
        """The table, the verdict, and what to try next."""
        experiment = self.experiment
        columns = _columns(several=experiment.options.runs > 1)
        return [
            Heading("Variance of the rate from trial to trial"),
            table_of(experiment.rows, columns, Output.TABLE, missing=NONE),
            Paragraphs([*_verdict(experiment), *_facts(experiment)]),
        ]

    def table(self) -> Table:
        """A row for each threshold and run."""
        return plain_table_of(self.experiment.rows, _columns(), Output.CSV)

    def make_picture(self, options: PictureOptions, ax: "Axes | None" = None) -> Picture:
        """As the paper draws it: over the runs if there are several, else over the thresholds."""
        experiment = self.experiment
        by_run = experiment.options.runs > 1
        # Of several runs, those of one threshold.
        rows = [row for row in experiment.rows if not by_run or row.threshold == experiment.rows[0].threshold]
        thresholds = [number if row.threshold is None else row.threshold for number, row in enumerate(rows)]
        x = [float(row.run) for row in rows] if by_run else [float(threshold) for threshold in thresholds]
        has_thresholds = rows[0].threshold is not None
        title = [f"groups by {experiment.options.group}"]
        title += ["different ones in every trial"] if experiment.options.resample is not None else []
        title += [f"{', '.join(experiment.options.shuffle)} shuffled"] if experiment.options.shuffle else []
        with Picture(options, ax, height=2.5) as picture:
            axes = picture.axes
            marker = "o" if len(rows) < 4 else None
            for design, (name, colour, dashes) in LOOKS.items():
                y = _above([row.mixing.predicted[design] for row in rows])
                look: dict[str, Any] = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 3}
                axes.plot(x, y, label=picture.name(name), **look)
            y = _above([row.mixing.sample_variance for row in rows])
            look = {"color": SAMPLE, "marker": marker, "markersize": 4, "linewidth": 1.5}
            axes.plot(x, y, label=picture.name("sample variance"), **look)
            logarithmic(axes, "y", dense=True)
            if by_run or not has_thresholds:
                axes.set_xticks([] if not by_run else [run for run in x if len(x) <= MAX_TICKS or run % 5 == 0])
            label = "run" if by_run else "threshold" if has_thresholds else ""
            axes.set(xlabel=picture.name(label), ylabel=picture.name("variance of the rate"))
            picture.legend(inside=False, title=safe("; ".join(title)))
        return picture


def _columns(*, several: bool = False) -> list[Column[UrnRow]]:
    """All that is known of a row, in the order of every table that has it; the run in a table if there are several."""
    table, sheet, entry = Output.TABLE, Output.CSV, Output.JSON
    everywhere = table | sheet | entry

    def exact(row: UrnRow) -> ExactNumber | None:
        return None if row.threshold is None else ExactNumber(row.threshold)

    def of(design: str, name: str) -> Callable[[UrnRow], float]:
        return lambda row: getattr(row.mixing, name)[design]

    tested = [
        (
            Column(f"/ {design}", of(design, "ratios"), table, form=".2f"),
            Column("p", of(design, "p_values"), table, form=P),
        )
        for design in DESIGNS
    ]
    return [
        Column("threshold", shown=entry),
        Column("run", shown=everywhere if several else sheet | entry),
        Column("threshold", shown=sheet),
        Column("threshold", exact, table),
        Column("rate", "mixing.rate", everywhere),
        Column("sample_variance", "mixing.sample_variance", everywhere, head="sample variance", form=".3g"),
        *(Column(design, of(design, "predicted"), sheet | entry) for design in DESIGNS),
        *(Column(f"p_{design}", of(design, "p_values"), sheet) for design in DESIGNS),
        *chain.from_iterable(tested),
        Column("ratios", "mixing.ratios", entry),
        Column("p_values", "mixing.p_values", entry),
        Column("compatible", lambda row: ", ".join(row.compatible) or "none", table),
        Column("compatible", lambda row: " ".join(row.compatible), sheet),
        Column("compatible", shown=entry),
    ]


def _verdict(experiment: UrnExperiment) -> list[str]:
    """What the test of the proposed design says, and no more."""
    design = experiment.options.proposed
    name = f"{NAMES[design].capitalize()} sampling"
    name += "" if design == "srs" else f" with groups by {experiment.options.group}"
    if {row.mixing.rate for row in experiment.rows} <= {0.0, 1.0}:
        return [f"{name} cannot be tested: every element succeeds, or every one fails, so nothing varies."]
    tested = [row for row in experiment.rows if not math.isnan(row.mixing.p_values[design])]
    if not tested:
        return [f"{name} cannot be tested: a trial has a single group, which does not show how groups differ."]
    rejected = [row for row in tested if row.rejects(design)]
    if not rejected:
        return _not_rejected(experiment, name, [row.mixing.p_values[design] for row in tested])
    return _rejected(experiment, name, rejected) + _suggestion(experiment)


def _not_rejected(experiment: UrnExperiment, name: str, p_values: Sequence[float]) -> list[str]:
    """As in the paper: a partition that is not rejected is supported by the data, but not proved."""
    p = p_text(min(p_values)) if len(p_values) == 1 else f"smallest {p_text(min(p_values))} of {len(p_values)} rows"
    limits = variance_interval(1.0, experiment.trials - 1)
    return [
        f"{name} is not rejected: from trial to trial the rate varied no more, and no less, than chance allows under "
        f"this design ({p}).",
        "This does not prove that the design holds or that nothing else makes the rate vary: "
        f"{experiment.trials:,} trials leave the real variance anywhere from {limits.low:.2f} to "
        f"{limits.high:,.2f} times the sample variance (95 %, chi-square).",
    ]


def _rejected(experiment: UrnExperiment, name: str, rejected: Sequence[UrnRow]) -> list[str]:
    design, total = experiment.options.proposed, len(experiment.rows)
    where = "" if total == 1 else f" in {len(rejected)} of {total} rows"
    directions = {row.mixing.direction[design] for row in rejected}
    how = {1: "varies more than it predicts", -1: "varies less than it predicts"}
    text = " or ".join(how[sign] for sign in sorted(directions, reverse=True) if sign in how) or "does not fit"
    p = min(row.mixing.p_values[design] for row in rejected)
    lines = [f"{name} is rejected{where}: the rate {text} ({'smallest ' if len(rejected) > 1 else ''}{p_text(p)})."]
    if others := " and ".join(f"{NAMES[design]} sampling" for design in _fitting(experiment)):
        lines.append(f"Not rejected{' in any row' if total > 1 else ''}: {others}.")
    return lines


def _fitting(experiment: UrnExperiment) -> list[str]:
    return [
        d for d in DESIGNS if d != experiment.options.proposed and all(d in row.compatible for row in experiment.rows)
    ]


def _suggestion(experiment: UrnExperiment) -> list[str]:
    """What to try next, as found in the first run."""
    if experiment.next is None:
        return _without_suggestion(experiment)
    column, share = experiment.next.column, f"{experiment.next.share * 100:.0f} %"
    text = f"Try next: --group {column}, which holds about {share} of the variance within groups."
    if experiment.next.action == "shuffle":
        text = f"Try next: --shuffle {column}, which explains about {share} of the excess variance."
    return [quoting(text, column)]


def _without_suggestion(experiment: UrnExperiment) -> list[str]:
    design = experiment.options.proposed
    rejected = [row.mixing.direction for row in experiment.rows if row.run == 1 and row.rejects(design)]
    if not rejected:
        return [f"By chance alone, a design that holds is rejected in {experiment.options.alpha * 100:g} of 100 runs."]
    # Columns are searched for excess variance, or if stratified sampling predicts too much.
    searched = any(direction[design] > 0 or direction["st"] < 0 for direction in rejected)
    if _fitting(experiment) or not searched:
        return []
    return ["No column explains a tenth of the difference; something that was not recorded may."]


def _facts(experiment: UrnExperiment) -> list[str]:
    options, rows = experiment.options, len(experiment.rows)
    mixed = f", {', '.join(options.shuffle)} shuffled within groups" if options.shuffle else ""
    nested = " (st: by chi-square, since no group is in two trials)" if experiment.cells == experiment.groups else ""
    lines = [
        f"{experiment.trials:,} trials of about {experiment.per_trial:,} elements, {experiment.groups:,} groups, "
        f"{_presence(experiment)}{mixed}; success: {experiment.rule}. Seed {options.seed}; p is two-sided, from "
        f"{options.permutations:,} permutations{nested}; a design is rejected if p is at most {options.alpha:g}.",
        "st: the groups are strata; srs: they do not matter; cl: they are clusters. A ratio (/ st) is the sample "
        "variance over what the design predicts from within the trials; it differs from 1 by chance, and more so with "
        "fewer trials. p is how often chance alone gives a sample variance this far off if the design holds"
        f"{', each row by itself' if rows > 1 else ''}; p itself would differ in another experiment. The test is "
        "meant for your final partition, not for each one that you try on the way.",
    ]
    if options.runs > 1:
        lines.append("Each run has a random half of the repetitions: runs share data, and do not confirm one another.")
    return lines + _left_out(experiment)


def _presence(experiment: UrnExperiment) -> str:
    if experiment.cells == experiment.groups:
        return "different ones in every trial"
    everywhere = experiment.cells == experiment.groups * experiment.trials
    return "the same in every trial" if everywhere else "not all of them in every trial"


def _left_out(experiment: UrnExperiment) -> list[str]:
    alone = "element that was alone in its" if experiment.alone == 1 else "elements that were alone in their"
    probes = "probe" if experiment.left_out == 1 else "probes"
    what = (
        (experiment.alone, f"{alone} group and trial"),
        (experiment.left_out, f"{probes} without a match in the gallery"),
    )
    return [f"Left out: {count:,} {words}." for count, words in what if count]


# As the paper draws them: cluster dotted, simple random dashed, stratified dots and dashes.
LOOKS = {
    "cl": ("cluster", COLOURS[2], (0, (1, 1))),
    "srs": ("simple random", GREY, (0, (5, 1.5))),
    "st": ("stratified", COLOURS[0], (0, (5, 1.5, 1, 1.5))),
}
SAMPLE = COLOURS[1]
MAX_TICKS = 8


def _above(values: Sequence[float]) -> list[float]:
    """Without 0, which a logarithmic axis cannot show."""
    return [value if value > 0 else float("nan") for value in values]
