"""The numbers of a pair, each declared once with where it is shown: tables for people, CSV and JSON."""

from collections.abc import Callable, Iterator, Sequence
from enum import Flag, auto
from math import isinf
from typing import Any

from harness.analysis.comparison import Comparison
from harness.analysis.pairs import MarginTest, Pair, WinRate
from harness.analysis.sampling import estimate_json, replication_json
from harness.report.blocks import NONE, Column, P, Table, plain_table_of, records_of, table_of
from harness.report.groups import tidy_group_table
from harness.report.numbers import correction_name, percent
from harness.stats.multiplicity import Multiplicity


class PairOutput(Flag):
    """Where the numbers of a pair are shown."""

    # What the verdict rests on, the same as if cases were independent, and with errors by design.
    SHORT = auto()
    INDEPENDENT = auto()
    DESIGN = auto()
    WINS = auto()
    COSTS = auto()
    CSV = auto()
    JSON = auto()


_SHORT, _INDEPENDENT, _DESIGN = PairOutput.SHORT, PairOutput.INDEPENDENT, PairOutput.DESIGN
_WINS, _COSTS, _CSV, _JSON = PairOutput.WINS, PairOutput.COSTS, PairOutput.CSV, PairOutput.JSON
EVERYWHERE = _SHORT | _INDEPENDENT | _CSV | _JSON
_NOWHERE = PairOutput(0)


def pair_columns(comparison: Comparison) -> list[Column[Pair]]:
    """All that is known of a pair, in the order of every table that has it."""
    names, level = comparison.names, percent(comparison.confidence)
    correction = f"p {correction_name(comparison.multiplicity)}"
    # McNemar's p-values have no max-t.
    max_t = comparison.multiplicity is Multiplicity.MAX_T
    own_correction = f"p {correction_name(Multiplicity.HOLM)}" if max_t else correction

    def value(path: str) -> Callable[[Pair], Any] | str:
        """A field of the estimate by design, else that of the pair for it, which has no standard error."""
        if comparison.by_design:
            return f"estimate.{path}"
        if path in ("se", "method"):
            return lambda _: None if path == "se" else "independent"
        return {"value": "difference", "p_value": "p_exact"}.get(path, path)

    def both(word: str) -> Callable[[Pair], str]:
        return lambda pair: f"{names[pair.a]} {word} {names[pair.b]}"

    def df(pair: Pair) -> float | None:
        return None if pair.estimate is None or isinf(pair.estimate.df) else pair.estimate.df

    def p_decisive(pair: Pair) -> float | None:
        return None if comparison.by_design and pair.estimate is None else pair.p_decisive

    def better(pair: Pair) -> str | None:
        by_measure = pair.other_measure or not comparison.paired
        leader = comparison.leader(pair) if by_measure else pair.better
        return None if leader is None else names[leader]

    def replication(pair: Pair) -> dict[str, Any] | None:
        estimate = pair.estimate if comparison.by_design else None
        return replication_json(estimate, comparison.runs[pair.a].measurement.sampling)

    # What two runs on different cases do not have.
    paired = EVERYWHERE | _DESIGN if comparison.paired else _NOWHERE
    return [
        Column("a", lambda pair: names[pair.a], shown=_CSV | _JSON),
        Column("b", lambda pair: names[pair.b], shown=_CSV | _JSON),
        Column("pair", both("-"), shown=_SHORT, head="A - B"),
        Column("pair", both("-"), shown=_INDEPENDENT | _DESIGN),
        Column("pair", both("over"), shown=_WINS),
        Column("pair", both("/"), shown=_COSTS),
        *(Column[Pair](name, shown=(_CSV | _JSON) & paired) for name in ("n_ff", "n_sf", "n_fs", "n_ss")),
        # By design if one is known, else as if cases were independent.
        Column("method", "estimate.method", shown=_DESIGN),
        Column("difference", value("value"), shown=_SHORT | _DESIGN | _CSV),
        Column("se", value("se"), shown=_DESIGN | _CSV),
        Column("df", df, shown=_DESIGN, form=".0f"),
        Column("interval", value("interval"), shown=_SHORT | _DESIGN, head=f"{level} interval", form=".4f"),
        Column("low", value("interval.low"), shown=_CSV),
        Column("high", value("interval.high"), shown=_CSV),
        Column("p_value", value("p_value"), shown=_DESIGN | _CSV, head="p", form=P),
        Column("p_flip", "sign_flip.p_value", shown=_DESIGN & paired, head="p flip", form=P),
        Column("p_decisive", p_decisive, shown=_SHORT, head=correction, form=P),
        Column("p_adjusted", value("p_adjusted"), shown=_DESIGN | _CSV, head=correction, form=P),
        Column("method", value("method"), shown=_CSV),
        Column("n_sf", shown=_SHORT, head="only A"),
        Column("n_fs", shown=_SHORT, head="only B"),
        Column("design_effect", "estimate.design_effect", shown=_DESIGN & paired, head="deff", form=".2f"),
        Column("icc", "estimate.icc", shown=_DESIGN & paired, form=".2f"),
        # As if cases were independent.
        Column("difference", shown=_INDEPENDENT | _JSON),
        Column("interval", shown=_INDEPENDENT | _JSON, head=f"Newcombe {level}", form=".4f"),
        Column("z", shown=_INDEPENDENT | _JSON, form=".3f"),
        Column("p_chi2", shown=_JSON & paired),
        Column("p_value", "p_chi2", shown=_NOWHERE if comparison.paired else _INDEPENDENT | _JSON, head="p", form=P),
        Column("p_exact", shown=_INDEPENDENT | _JSON | _CSV & paired, head="p exact" if paired else "p Fisher", form=P),
        Column("p_mid", shown=(_INDEPENDENT | _JSON | _CSV) & paired, head="p mid", form=P),
        Column("p_one_sided", shown=(_INDEPENDENT | _JSON | _CSV) & paired, head="p one-sided", form=P),
        Column("p_flip", "sign_flip.p_value", shown=_CSV & paired),
        Column("p_adjusted", shown=_INDEPENDENT | _JSON, head=own_correction, form=P),
        Column("measure", lambda _: comparison.measure.name, shown=_CSV),
        *(Column[Pair](name, shown=_JSON & paired) for name in ("z_design", "p_design")),
        *(Column[Pair](name, shown=_JSON & paired) for name in ("confidence_differ", "confidence_better")),
        Column("better", better, shown=_JSON),
        Column("replication", replication, shown=_JSON),
        Column("sign_flip", shown=_JSON & paired),
        *(column for name in comparison.further for column in _further_columns(name, level)),
    ]


def _further_columns(name: str, level: str) -> list[Column[Pair]]:
    """What was asked for besides, or recorded: a key of JSON, and the columns of a table."""
    if name == "equivalence":
        return [Column(name, lambda pair: _margin_json(pair.equivalence), shown=_JSON)]
    if name == "win_rate":
        return [
            Column(name, lambda pair: _win_json(pair.win_rate), shown=_JSON),
            *(Column[Pair](part, f"win_rate.{part}", shown=_WINS) for part in ("wins", "ties", "losses")),
            Column("win_rate", "win_rate.estimate.value", shown=_WINS, head="win rate", form=".4f"),
            Column("interval", "win_rate.estimate.interval", shown=_WINS, head=f"{level} interval", form=".4f"),
            Column("p_value", "win_rate.estimate.p_value", shown=_WINS, head="p", form=P),
            Column("p_adjusted", "win_rate.estimate.p_adjusted", shown=_WINS, head="p corrected", form=P),
        ]

    def ratio(pair: Pair) -> dict[str, Any] | None:
        estimate = getattr(pair, name)
        return None if estimate is None else estimate_json(estimate, "interval", "p_value", value="ratio")

    return [
        Column(name, ratio, shown=_JSON),
        Column("ratio", f"{name}.value", shown=_COSTS, head=f"ratio of {name}", form=".3f"),
        Column("interval", f"{name}.interval", shown=_COSTS, head=f"{name} {level}", form=".3f"),
        Column("p_value", f"{name}.p_value", shown=_COSTS, head=f"p {name}", form=P),
    ]


def pair_table_of(comparison: Comparison, which: PairOutput, pairs: Sequence[Pair] | None = None) -> Table:
    """One of the tables of pairs for people: of all pairs, or of some."""
    missing = NONE if which is PairOutput.DESIGN else None
    return table_of(comparison.pairs if pairs is None else pairs, pair_columns(comparison), which, missing=missing)


def design_table(comparison: Comparison) -> Table:
    """The difference of each pair that has one, with its error by design."""
    return pair_table_of(
        comparison, PairOutput.DESIGN, [pair for pair in comparison.pairs if pair.estimate is not None]
    )


def pair_records(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """The JSON of each pair, one after the other: of a thousand runs there are half a million."""
    return records_of(comparison.pairs, pair_columns(comparison), PairOutput.JSON)


def tidy_table(comparison: Comparison) -> Table:
    """The pairs for programs: the difference by design, or else Newcombe's; with groups, each pair in each group."""
    if comparison.breakdowns:
        return tidy_group_table(comparison.breakdowns, comparison.names, comparison.run_pairs, comparison.measure.name)
    return plain_table_of(comparison.pairs, pair_columns(comparison), PairOutput.CSV)


def _win_json(rate: WinRate | None) -> dict[str, Any] | None:
    if rate is None:
        return None
    counts = {"wins": rate.wins, "ties": rate.ties, "losses": rate.losses}
    return counts | estimate_json(rate.estimate, "se", "df", "interval", "p_value", "p_adjusted")


def _margin_json(test: MarginTest | None) -> dict[str, Any] | None:
    if test is None:
        return None
    raw, kinds = test.equivalence, ("not_inferior", "not_superior", "equivalent")
    p_values = {kind: getattr(test, f"p_{kind}") for kind in kinds}
    return {
        **{name: getattr(raw, name) for name in ("margin", "alpha", "interval")},
        **{f"p_{kind}": getattr(raw, f"p_{kind}") for kind in kinds},
        **{f"p_{kind}_adjusted": p for kind, p in p_values.items()},
        **{kind: p <= raw.alpha for kind, p in p_values.items()},
    }
