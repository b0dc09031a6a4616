"""A planned test in words: how many units and cases, what that rests on, and what other numbers would give."""

import math

from harness.analysis.power import PowerPlan
from harness.model import finite, join_names
from harness.options.power import PlanningGoal
from harness.report.blocks import Block, Cell, Heading, Paragraphs, Table
from harness.report.numbers import distance, percent

# Rows of the table for people.
MAX_ROWS = 9
NEYMAN = (
    "Neyman's allocation gives a stratum units in proportion to its weight times its standard deviation, so that "
    "the same number of units has the smallest error; the test must then weight its strata."
)


def power_blocks(plan: PowerPlan) -> list[Block]:
    """The answer first."""
    whole = power_table(plan)
    answer = plan.curve_units.index(plan.units) if plan.units in plan.curve_units else 0
    step = max(len(whole.rows) // MAX_ROWS, 1)
    # Some of the rows, the answer's own among them.
    shown = [row for index, row in enumerate(whole.rows) if (index - answer) % step == 0]
    if plan.unit == "cases":
        curve = Table(whole.columns[1:], [row[1:] for row in shown])
    else:
        curve = Table([plan.unit, *whole.columns[1:]], shown)
    blocks: list[Block] = [Paragraphs([_answer(plan), *_uncertain(plan)]), curve]
    if plan.allocation:
        rows: list[list[Cell]] = [[row.stratum, row.pilot, row.proportional, row.neyman] for row in plan.allocation]
        table = Table(["stratum", "pilot", "as in the pilot", "Neyman"], rows)
        blocks += [Heading("Units by stratum"), table, Paragraphs([NEYMAN])]
    return [*blocks, Paragraphs([f"{line[0].upper()}{line[1:]}." for line in _basis(plan)])]


def _answer(plan: PowerPlan) -> str:
    options, size = plan.options, f"{plan.units or 0:,} {plan.unit}"
    size += "" if plan.unit == "cases" else f" ({plan.cases or 0:,} cases)"
    if options.question is PlanningGoal.WIDTH:
        if options.units is not None:
            return f"{size} give a {percent(options.confidence)} interval of width {plan.reached:.4f}."
        return f"{size} are needed for a {percent(options.confidence)} interval no wider than {options.width:g}."
    if options.question is PlanningGoal.EQUIVALENCE:
        what = f"show that two algorithms differ by less than {_points(options.margin)}"
        what += f", if they really differ by {_points(options.difference)}" if options.difference else ""
    elif options.question is PlanningGoal.DETECTABLE:
        return f"{size} could have shown {_detectable_words(plan)}."
    else:
        what = f"show a difference of {_points(options.difference)}"
    several = f", with {options.algorithms} algorithms and Holm's correction" if options.algorithms > 2 else ""
    level = f"at the {percent(round(1 - options.confidence, 10))} level{several}"
    if options.units is not None:
        more = "" if plan.detectable is None else f" They could show {_detectable_words(plan)}."
        return f"{size} {what} {level} with {percent(round(plan.reached, 3))} power.{more}"
    return f"{size} are needed to {what} {level} with {percent(options.power)} power."


def _detectable_words(plan: PowerPlan) -> str:
    if plan.detectable is None or not math.isfinite(plan.detectable):
        return "no difference at all"
    return f"a difference of {_points(plan.detectable)} or more, with {percent(plan.options.power)} power"


def _points(difference: float | None) -> str:
    return distance(abs(difference or 0.0))


def _uncertain(plan: PowerPlan) -> list[str]:
    if plan.units_interval is None or plan.pilot is None:
        return []
    low, high = (f"{limit:,}" if limit is not None else "more than 1,000,000,000" for limit in plan.units_interval)
    return [
        f"The pilot's own variance is uncertain: it may take from {low} to {high} {plan.unit} "
        f"({percent(0.95)} limits of a variance with {plan.pilot.df:.0f} degrees of freedom)."
    ]


def _basis(plan: PowerPlan) -> list[str]:
    options, sample, answers = plan.options, plan.sample, "cases"
    lines = []
    if (pilot := plan.pilot) is not None:
        parts = [f"{round(pilot.cases / pilot.answers):,} cases"]
        parts += [f"{pilot.units:,} {pilot.unit}"] if pilot.unit != "cases" else []
        parts += [f"{pilot.strata:,} strata"] if pilot.strata > 1 else []
        discordance = f", discordance {pilot.discordance:.4f}" if pilot.discordance is not None else ""
        lines.append(f"pilot: {join_names(pilot.names)} on {', '.join(parts)}{discordance}")
        answers = "answers" if pilot.answers > 1 else answers
        if pilot.main_measure != "rate":
            lines.append(
                f"this is about rates of success; hate compare takes {pilot.main_measure} of such runs, unless "
                "--statistic rate is given"
            )
    lines += [f"assumed: {text}" for text in plan.assumptions]
    if options.question is PlanningGoal.WIDTH:
        lines.append("the interval is that of hate rate, if the rate turns out as expected")
    elif plan.exact:
        lines.append(
            f"cases are taken as independent: power of McNemar's exact test, discordance {plan.discordance:.4f}"
        )
    else:
        lines.append(f"power of the t test by design, with {(plan.units or 0) - sample.strata:,} degrees of freedom")
    if sample.per_unit > 1:
        lines.append(
            f"{sample.per_unit:g} {answers} per unit with an intraclass correlation of {sample.icc:.3g}: a design "
            f"effect of {sample.design_effect:.2f}"
        )
    elif pilot is None:
        lines.append("if cases come in groups that were drawn, say so with --per-unit and --icc: it takes more of them")
    return lines


def power_table(plan: PowerPlan) -> Table:
    """What is measured, over the number of units."""
    rows: list[list[Cell]] = [
        [units, plan.cases_in(units), finite(value)] for units, value in zip(plan.curve_units, plan.curve, strict=True)
    ]
    return Table(["units", "cases", plan.options.measured], rows)


def rule_table(design_effect: float, three: int, thirty: int) -> Table:
    rows: list[list[Cell]] = [
        ["rule of 3", three, round(three * design_effect)],
        ["rule of 30", thirty, round(thirty * design_effect)],
    ]
    return Table(["rule", "independent trials", "trials"], rows)


def rule_blocks(rate: float, confidence: float, design_effect: float, three: int, thirty: int) -> list[Block]:
    """What the rules say of an error rate."""
    sentences = [
        f"Rule of 3: if {three:,} independent trials show no error at all, the error rate is below {rate:g} with "
        f"{percent(confidence)} confidence.",
        f"Rule of 30: in {thirty:,} independent trials about 30 errors are expected, and the rate is then within 30 % "
        "of the true one with 90 % confidence (Doddington and others 2000; ISO/IEC 19795-1).",
    ]
    if design_effect == 1:
        sentences.append(
            "Trials of the same people are not independent: --per-unit and --icc say how many more it takes."
        )
    return [rule_table(design_effect, three, thirty), Paragraphs(sentences)]
