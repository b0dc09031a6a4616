"""`hate urn`: which way of sampling explains how much a rate varies?"""

from collections.abc import Sequence
from typing import Any

import click

from harness.cli.matrices import matrix_options, read_matrices
from harness.cli.options import PATH, TABULAR, Numbers, format_option
from harness.cli.output import chosen, emit_document, remark
from harness.cli.tested import OF_RUNS, find_sources, is_test, sources_argument
from harness.errors import UsageError
from harness.report.table import Format

DESIGNS = ("st", "srs", "cl")
MATRICES = (".npy", ".csv", ".tsv", ".parquet")


@click.command("urn")
@sources_argument
@click.option("--group", required=True, metavar="COLUMN", help="The partition that is proposed: subject, image.")
@click.option("--trial", metavar="COLUMN", help="What is repeated: a day, a data collection; 'source' for files.")
@click.option("--elements", type=click.IntRange(min=1), metavar="M",
              help="So many repetitions make a trial; 4 where a group has one element in each, else 1.")  # fmt: skip
@click.option("--shuffle", metavar="COLUMN,...", help="Randomise a cofactor within the groups: time.")
@click.option("--resample", type=click.Choice(["groups"]), help="Draw other groups for every trial.")
@click.option("--groups", type=click.IntRange(min=2), metavar="N",
              help="With --resample: so many groups a trial; a tenth of them unless told.")  # fmt: skip
@click.option("--design", type=click.Choice(DESIGNS), help="What is proposed; st, and cl with --resample.")
@click.option("--threshold", metavar="VALUES", help="1, or 1,5,10, or 0:1:0.1: where success begins.")
@click.option("--on", type=click.Choice(["rank", "score"]), default="rank", show_default=True,
              help="Of matrices: what the threshold is of.")  # fmt: skip
@click.option("--subject", default="subject", show_default=True, metavar="COLUMN", help="Of matrices: who it is.")
@click.option("--runs", type=click.IntRange(1, 1000), default=1, show_default=True,
              help="Repeat it all, each time with a random half of the repetitions.")  # fmt: skip
@click.option("--permutations", type=click.IntRange(19, 1_000_000), default=999, show_default=True, metavar="N")
@click.option("--alpha", type=Numbers(0, 1, min_open=True, max_open=True), default=0.05, show_default=True,
              help="Reject a design whose p is at most this.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@matrix_options
@click.option("--plot", type=PATH, metavar="FILE.svg|png|pdf", help="Draw the variances.")
@format_option(*TABULAR)
def command(words: Sequence[str], **given: Any) -> None:
    """Is the urn well mixed? Compare how a rate varies from trial to trial with what three designs predict.

    T is a transcript, a test, which is run first, or a similarity matrix. Elements are the records of transcripts or
    the probes of matrices; groups may be strata (st), clusters (cl) or nothing (srs).

    \b
    hate urn hdigits --interface wisard --group truth --resample groups --groups 2
    hate urn weather.jsonl --group subject --trial time
    hate urn weather.jsonl --group image --trial time --shuffle time --plot urn.svg
    """
    _check(given)
    from harness.analysis.urns.experiment import draw_from_urn

    found = draw_from_urn(_elements(words, given), _wishes(given))
    _print(chosen(given["style"]), found)
    if given["plot"] is not None:
        from harness.report.plots.urn import plot_urn

        plot_urn(found, given["plot"])
        remark(f"picture: {given['plot']}")


def _check(given: dict[str, Any]) -> None:
    if given["groups"] is not None and given["resample"] is None:
        raise UsageError("--groups N is how many --resample groups draws; give both")
    from harness.stats.mixing import permutations_needed

    alpha, needed = given["alpha"], permutations_needed(given["alpha"])
    if given["permutations"] < needed:
        raise UsageError(
            f"--permutations {given['permutations']}: too few to reject anything at --alpha {alpha:g}; "
            f"give {needed:,} or more"
        )
    if given["plot"] is not None:
        from harness.report.plots.canvas import check_picture

        check_picture(given["plot"])


def _elements(words: Sequence[str], given: dict[str, Any]) -> Any:
    """The elements of transcripts, or of matrices; not of both."""
    from harness.analysis.comparing.align import Run
    from harness.analysis.urns.elements import from_matrices, from_runs
    from harness.transcript.columns import read_columns

    values = _thresholds(given["threshold"])
    kinds = {word.lower().endswith(MATRICES) and "://" not in word for word in words}
    if kinds == {True, False}:
        raise UsageError(f"{words[0]}, {words[-1]}: transcripts and matrices together; give one kind")
    if True in kinds:
        _only_for_tests(words, given)
        matrices = read_matrices(words, given)
        return from_matrices(matrices, values, on=given["on"], identity=given["subject"])
    _only_for_matrices(words, given)
    found = find_sources(words, given)
    runs = [Run(read_columns(source.path, name=source.name), source.name, source.stem) for source in found]
    return from_runs(runs, [source.path for source in found], values)


def _only_for_tests(words: Sequence[str], given: dict[str, Any]) -> None:
    for name, option in (*OF_RUNS, ("output", "-o")):
        if given[name]:
            raise UsageError(f"{option} is for a test that is run; {words[0]} is a similarity matrix")


def _only_for_matrices(words: Sequence[str], given: dict[str, Any]) -> None:
    """A rank test that is run takes a choice of gallery and probes too."""
    for name, option in (("labels", "--labels"), ("distance", "--distance"), ("identity", "--identity")):
        if given[name]:
            raise UsageError(f"{option} is for similarity matrices; transcripts say themselves what they have")
    for name, option in (("gallery", "--gallery"), ("probes", "--probe")):
        if given[name] and not any(is_test(word, given["libraries"]) for word in words):
            raise UsageError(f"{option} is for similarity matrices, and for rank tests that are run")


def _thresholds(text: str | None) -> list[float]:
    from harness.params import Param, ParamType

    if text is None:
        return []
    return [float(value) for value in Param("threshold", ParamType.FLOAT, 0.0).parse_many(text)]


def _wishes(given: dict[str, Any]) -> Any:
    from harness.analysis.urns.experiment import FRESH, UrnWishes

    resample = None if given["resample"] is None else given["groups"] or FRESH
    shuffle = tuple(name.strip() for name in given["shuffle"].split(",")) if given["shuffle"] else ()
    names = ("group", "trial", "elements", "design", "runs", "permutations", "alpha", "seed")
    return UrnWishes(shuffle=shuffle, resample=resample, **{name: given[name] for name in names})


def _print(style: Format, found: Any) -> None:
    from harness.analysis.urns.as_json import as_json
    from harness.report.urn import long_table, urn_blocks

    payload = as_json(found) if style is Format.JSON else None
    emit_document(style, [long_table(found)] if style is Format.CSV else urn_blocks(found), payload)
