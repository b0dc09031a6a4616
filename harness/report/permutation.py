"""What `hate permute` found, for people and for programs."""

from harness.analysis.permute import PermutedRates, rule_words
from harness.report.blocks import Block, Cell, Heading, Number, Paragraphs, Table
from harness.report.numbers import interval_cell, p_cell, percent

# Ranks that a person is shown; the other formats have all.
RANKS = (1, 5, 10)
MOST_NAMES = 3


def permutation_blocks(result: PermutedRates, other: PermutedRates | None = None) -> list[Block]:
    """Rates, differences at rank 1, and what they are about."""
    blocks: list[Block] = [Heading("Recognition rate"), rate_table(result)]
    if other is not None:
        blocks += [Heading("The same with unbalanced draws"), rate_table(other)]
    if result.pairs:
        blocks += [Heading("Difference at rank 1, on the same draws"), pair_table(result)]
    return [*blocks, Paragraphs([*_facts(result), *_meaning(result)])]


def rate_table(result: PermutedRates) -> Table:
    """A row for each algorithm, means and intervals at a few ranks."""
    ranks = [rank for rank in RANKS if rank <= result.options.ranks]
    level = percent(result.options.confidence)
    columns = ["algorithm", *(word for rank in ranks for word in (f"rank {rank}", level))]
    rows: list[list[Cell]] = []
    for name, rates in zip(result.names, result.rates, strict=True):
        row: list[Cell] = [name]
        for rank in ranks:
            one = rates[rank - 1]
            row += [one.mean, interval_cell(one.interval, ".3f")]
        rows.append(row)
    return Table(columns, rows)


def pair_table(result: PermutedRates) -> Table:
    """A row for each pair, at rank 1."""
    columns = ["A", "B", "A - B", percent(result.options.confidence), "A, tie, B", "A <= B", "B <= A"]
    rows: list[list[Cell]] = [
        [
            pair.a,
            pair.b,
            Number(pair.difference, "+.4f"),
            interval_cell(pair.interval, "+.3f"),
            f"{pair.a_better}, {pair.ties}, {pair.b_better}",
            p_cell(pair.p_not_better),
            p_cell(pair.p_b_not_better),
        ]
        for pair in result.pairs
        if pair.rank == 1
    ]
    return Table(columns, rows)


def rank_table(result: PermutedRates) -> Table:
    """Every rank of every algorithm, for programs; a row with `less` is about the difference from that algorithm."""
    columns = ["algorithm", "rank", "mean", "sd", "low", "high"]
    rows: list[list[Cell]] = [
        [name, one.rank, one.mean, one.sd, *one.interval]
        for name, of_one in zip(result.names, result.rates, strict=True)
        for one in of_one
    ]
    if not result.pairs:
        return Table(columns, rows)
    pairs: list[list[Cell]] = [
        [one.a, one.rank, one.difference, None, *one.interval, one.b, one.p_not_better] for one in result.pairs
    ]
    return Table([*columns, "less", "p_not_better"], [*([*row, None, None] for row in rows), *pairs])


def _facts(result: PermutedRates) -> list[str]:
    options = result.options
    drawn, level = "balanced" if options.balanced else "unbalanced", percent(options.confidence)
    lines = [
        f"{options.experiments:,} virtual experiments, {drawn}, seed {options.seed}: {result.permuted.people:,} "
        f"people, each with one gallery and one probe image, {result.image_pairs:,} pairs of images to draw from; "
        f"{rule_words(options)}. The {level} columns hold the middle {level} of the experiments, each rank by itself."
    ]
    if result.left_out:
        names = ", ".join(result.left_out[:MOST_NAMES]) + (", ..." if len(result.left_out) > MOST_NAMES else "")
        who = "1 person has" if len(result.left_out) == 1 else f"{len(result.left_out):,} people have"
        lines.append(f"Left out: {who} no such pair of images ({names}).")
    if options.balanced and result.patterns > result.permuted.people // 2:
        lines.append("Few people have images of the same pattern, so there is little to balance.")
    return lines


def _meaning(result: PermutedRates) -> list[str]:
    lines = [
        f"All of this is about these {result.permuted.people:,} people under other choices of image, not about new "
        "people: for those, `hate cmc` has bands and `hate compare` tests."
    ]
    if result.pairs:
        lines.append(
            "A, tie, B: experiments in which A was better, neither was, B was. A <= B: the share of the experiments in "
            "which A was not better than B, as (b + 1)/(N + 1) with b such experiments of N; B <= A: the other way "
            "round. Neither is a p-value: images were drawn, people were not."
        )
    return lines
