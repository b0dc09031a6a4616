"""What tuning found, for people: the best settings, the winner, and whether its lead is more than noise."""

from collections.abc import Sequence

from harness.analysis.tune import Tuning
from harness.report.blocks import Block, Cell, Paragraphs, Table
from harness.report.counts import TALLY, parameter_cells
from harness.report.numbers import interval_text, p_text
from harness.stats.estimate import Estimate

COUNTS = TALLY[1:]


def tuning_blocks(tuning: Tuning, swept: Sequence[str], top: int) -> list[Block]:
    """The table of the best settings, and the default, whatever its rank; and what it means."""
    shown = list(tuning.ranking[:top])
    if tuning.default not in shown:
        shown.append(tuning.default)
    values = parameter_cells([setting.params for setting in tuning.settings], swept)
    rows: list[list[Cell]] = []
    for index in shown:
        counts = tuning.settings[index].counts
        mark = "default" if index == tuning.default else ""
        cells: list[Cell] = [tuning.ranking.index(index) + 1, *values[index]]
        rows.append([*cells, *(getattr(counts, name) for name in COUNTS), tuning.values[index], mark])
    table = Table(["rank", *swept, *COUNTS, tuning.goal.name, ""], rows)
    texts = [", ".join(f"{name} = {cell}" for name, cell in zip(swept, cells, strict=True)) for cells in values]
    goal, lead = tuning.goal.name, tuning.lead
    lines = [f"Best of {len(tuning.settings):,}: {texts[tuning.ranking[0]]}: {_value_words(goal, lead.winner)}."]
    if tuning.default_wins:
        return [table, Paragraphs([*lines, "That is the default: nothing that was tried is better."])]
    lines.append(f"Default: {texts[tuning.default]}: {_value_words(goal, lead.default)}.")
    verdict = "The lead is more than noise. The figure itself is optimistic: it was chosen as the best on these cases."
    if lead.within_noise:
        verdict = "Warning: the lead is within the noise; there is no good reason to leave the default."
    return [table, Paragraphs([*lines, _lead(tuning), verdict])]


def _value_words(goal: str, estimate: Estimate) -> str:
    return f"{goal} {estimate.value:.4f} (95 %: {interval_text(estimate.interval)})"


def _lead(tuning: Tuning) -> str:
    estimate, lead = tuning.lead.estimate, tuning.lead
    text = f"Lead over the default: {estimate.value:.4f} ({interval_text(estimate.interval)})"
    chosen = f"{p_text(lead.p_chosen)} allowing for the choice among {lead.candidates:,}"
    text += f", {p_text(estimate.p_value)}, and {chosen}."
    if lead.n_sf is not None:
        text += f" Only the winner succeeded on {lead.n_sf:,} cases, only the default on {lead.n_fs:,}"
        text += f" (McNemar, exact: {p_text(lead.p_exact)})."
    return text
