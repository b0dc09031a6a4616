"""`hate compare`: is A better than B?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from harness.cli.baseline import baseline_remark
from harness.cli.compare_options import asked_for, check_together, further_options
from harness.cli.options import CONFIDENCE, TABULAR, Numbers, format_option
from harness.cli.output import chosen, emit_document, remark
from harness.cli.sources import complete_transcript, http_options, opened
from harness.errors import UsageError
from harness.params import nearest
from harness.report.table import Format

METHODS = ("auto", "brr", "fay", "jackknife", "bootstrap", "linear")
LONE = ("collapse", "fail", "remove", "certainty", "adjust", "average")


@click.command("compare")
@click.argument("transcripts", nargs=-1, required=True, metavar="T...", shell_complete=complete_transcript)
@click.option("--baseline", metavar="NAME", help="Compare one with all the others, instead of all pairs.")
@click.option("--stratum", metavar="COLUMN,...", help="Groups that a repetition would have again; 'none' for none.")
@click.option("--psu", metavar="COLUMN,...", help="Groups that were drawn, and would be others; 'none' for none.")
@click.option("--weights", metavar="cases|equal|COLUMN|FILE", help="What a case, or a stratum, counts for.")
@click.option("--method", type=click.Choice(METHODS), default="auto", show_default=True, help="How to replicate.")
@click.option("--fay", type=Numbers(0, 1, max_open=True), metavar="RHO", help="Fay's factor; 0.5 with --method fay.")
@click.option("--df", type=click.Choice(["design", "satterthwaite"]), default="design", show_default=True)
@click.option("--lone", type=click.Choice(LONE), default="collapse", show_default=True, help="Strata of a single unit.")
@click.option("--confidence", type=CONFIDENCE, default=0.95, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For methods that draw.")
@click.option("--intersect", is_flag=True, help="Compare the cases that all have.")
@click.option("--partial", is_flag=True, help="Take incomplete transcripts too.")
@click.option("--fail-if-worse", is_flag=True, help="Exit status 1 when the first is worse than another, for a build.")
@further_options
@http_options
@format_option(*TABULAR)
def command(transcripts: Sequence[str], **given: Any) -> int:
    """Compare transcripts of one test: files, URLs, TEST/NAME or NAME, or - for standard input.

    Prints who was better on how many cases, McNemar's test, and replication that knows how the cases were sampled.
    """
    if len(transcripts) < 2:
        raise UsageError(f"{transcripts[0]}: one transcript is not a comparison; `hate rate` looks at one by itself")
    check_together(given)
    from harness.analysis.comparing.align import metric_remark
    from harness.analysis.comparing.further import compare_further
    from harness.analysis.comparing.sampling import take_sample
    from harness.report.comparison import comparison_blocks

    if given["unpaired"]:
        return _unpaired(transcripts, given)
    aligned = _aligned(transcripts, given)
    baseline = _place(aligned.names, given["baseline"])
    found, further = compare_further(
        aligned, take_sample(aligned, _design(given)), _plan(given), asked_for(given, baseline)
    )
    if given["plot"] is not None and further.by is not None:
        from harness.report.plots.by_group import draw_groups

        pairs = [(pair.a, pair.b) for pair in found.pairs]
        draw_groups(further.by, found.aligned.names, pairs, found.measure, found.plan.confidence, given["plot"])
    style = chosen(given["style"])
    if style is Format.JSON:
        from harness.analysis.comparing.as_json import as_json

        emit_document(style, [], as_json(found, further))
    else:
        emit_document(style, comparison_blocks(found, further), None)
        for text in (metric_remark(aligned), baseline_remark(aligned.headers[0].test, aligned.names)):
            if text:
                remark(text)
    return 1 if given["fail_if_worse"] and _first_is_worse(found) else 0


# Options that look at more of a record than its outcome, score, time, stratum and PSU.
NEEDS_COLUMNS = ("stratum", "psu", "weights", "by", "at")


def _aligned(transcripts: Sequence[str], given: dict[str, Any]) -> Any:
    from harness.analysis.comparing.align import align

    return align(_runs(transcripts, given), intersect=given["intersect"], partial=given["partial"])


def _runs(transcripts: Sequence[str], given: dict[str, Any]) -> list[Any]:
    from harness.analysis.comparing.align import Run
    from harness.measures import MEASURES, Reads
    from harness.transcript.columns import read_columns

    sources = opened(transcripts, given["http_timeout"], given["http_limit"])
    measure = MEASURES.get(given["statistic"])
    wanted = any(given.get(option) for option in NEEDS_COLUMNS)
    wanted = wanted or measure is None or measure.reads not in (Reads.OUTCOME, Reads.COST)
    lean = not wanted and not _weighs_by_column(sources[0].path)
    return [Run(read_columns(s.path, name=s.name, lean=lean), s.name, s.stem) for s in sources]


def _unpaired(transcripts: Sequence[str], given: dict[str, Any]) -> int:
    from harness.analysis.comparing.as_json import unpaired_json
    from harness.analysis.comparing.unpaired import UnpairedOptions, compare_unpaired
    from harness.report.unpaired import unpaired_blocks

    asked = asked_for(given, None)
    options = UnpairedOptions(
        _design(given), _plan(given), asked.statistic, asked.point, given["partial"], asked.margin, asked.by,
        asked.multiplicity,
    )  # fmt: skip
    found = compare_unpaired(_runs(transcripts, given), options)
    if given["plot"] is not None and found.by is not None:
        from harness.report.plots.by_group import draw_groups

        names, pairs = [side.name for side in found.sides], [(one.a, one.b) for one in found.contrasts]
        draw_groups(found.by, names, pairs, found.measure, found.plan.confidence, given["plot"])
    style = chosen(given["style"])
    as_json = style is Format.JSON
    emit_document(style, [] if as_json else unpaired_blocks(found), unpaired_json(found) if as_json else None)
    return 1 if given["fail_if_worse"] and found.first_is_worse else 0


def _weighs_by_column(path: Path) -> bool:
    """Whether the test's own design takes weights from a column of the cases."""
    from harness.transcript.read import open_transcript

    with open_transcript(path) as reader:
        return reader.header.weighs_cases


def _place(names: Sequence[str], name: str | None) -> int | None:
    if name is None:
        return None
    if name not in names:
        raise UsageError(f"--baseline {name}: not among these transcripts; {nearest(name, names)}")
    return list(names).index(name)


def _design(given: dict[str, Any]) -> Any:
    from harness.analysis.comparing.sampling import DesignOptions

    stratum, psu = (None if given[key] is None else given[key].split(",") for key in ("stratum", "psu"))
    return DesignOptions(stratum, psu, given["weights"], given["lone"])


def _plan(given: dict[str, Any]) -> Any:
    from harness.stats.replication.plan import Plan

    method = {"fay": "brr", "linear": "linearised"}.get(given["method"], given["method"])
    fay = 0.5 if given["method"] == "fay" and given["fay"] is None else given["fay"]
    return Plan(method=method, fay=fay, df=given["df"], confidence=given["confidence"], seed=given["seed"])


def _first_is_worse(found: Any) -> bool:
    """Whether another is significantly better than the first."""
    return any(pair.a == 0 and found.leader(pair) == pair.b and pair.p_decisive <= found.alpha for pair in found.pairs)
