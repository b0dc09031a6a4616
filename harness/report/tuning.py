"""What tuning found, for people: the best settings, the winner, and whether its lead is more than noise."""

from collections.abc import Sequence

from harness.analysis.tune import TunedSetting, Tuning
from harness.params import Value
from harness.report.blocks import Block, Cell, Paragraphs, Table
from harness.report.counts import parameter_cell
from harness.report.numbers import interval_text, p_is
from harness.stats.estimate import Estimate

COUNTS = ("TP", "TN", "FP", "FN", "ER")


def tuning_blocks(found: Tuning, swept: Sequence[str], top: int) -> list[Block]:
    """The table of the best settings, and what to make of it."""
    return [tuning_table(found, swept, top), Paragraphs(_sentences(found, swept))]


def tuning_table(found: Tuning, swept: Sequence[str], top: int) -> Table:
    """The best settings, and the default, whatever its rank."""
    places = list(found.ranking[:top])
    if found.default not in places:
        places.append(found.default)
    rows: list[list[Cell]] = []
    for place in places:
        tried = found.settings[place]
        mark = "default" if place == found.default else ""
        cells: list[Cell] = [found.ranking.index(place) + 1, *(parameter_cell(tried.params[name]) for name in swept)]
        rows.append([*cells, *(getattr(tried.counts, name) for name in COUNTS), tried.value, mark])
    return Table(["rank", *swept, *COUNTS, found.goal.name, ""], rows)


def setting_words(params: dict[str, Value], swept: Sequence[str]) -> str:
    """tuples = 64, bits = 8."""
    return ", ".join(f"{name} = {parameter_cell(params[name])}" for name in swept)


def _sentences(found: Tuning, swept: Sequence[str]) -> list[str]:
    lines = [
        f"Best of {len(found.settings):,}: {_words(found.winner, found.comparison.winner, found.goal.name, swept)}."
    ]
    if found.default_wins:
        return [*lines, "That is the default: nothing that was tried is better."]
    default = found.settings[found.default]
    lines.append(f"Default: {_words(default, found.comparison.default, found.goal.name, swept)}.")
    return [*lines, _lead(found), _verdict(found)]


def _words(tried: TunedSetting, one: Estimate, goal: str, swept: Sequence[str]) -> str:
    return f"{setting_words(dict(tried.params), swept)}: {goal} {one.value:.4f} (95 %: {interval_text(one.interval)})"


def _lead(found: Tuning) -> str:
    one, lead = found.lead.estimate, found.lead
    text = f"Lead over the default: {one.value:.4f} ({interval_text(one.interval)})"
    text += f", {p_is(one.p_value)}, and {p_is(lead.p_chosen)} allowing for the choice among {lead.candidates:,}."
    if lead.discordant is not None:
        pair = lead.discordant
        text += f" Only the winner succeeded on {pair.winner:,} cases, only the default on {pair.default:,}"
        text += f" (McNemar, exact: {p_is(pair.p_exact)})."
    return text


def _verdict(found: Tuning) -> str:
    if found.lead.within_noise:
        return "Warning: the lead is within the noise; there is no good reason to leave the default."
    return (
        "The lead is more than noise. The figure itself is too good: it was chosen for being the best on these cases."
    )
