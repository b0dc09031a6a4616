"""What `hate roc`, `hate det` and `hate pr` share: options, and how curves are printed and drawn."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.cli.options import CONFIDENCE, PATH, TABULAR, format_option
from harness.cli.output import chosen, emit, emit_document, remark
from harness.cli.tested import partial_option, read_runs, sources_argument
from harness.errors import OutputError
from harness.report.table import Format, Table

F = TypeVar("F", bound=Callable[..., Any])
BANDS = ("auto", "wilson", "brr", "bootstrap", "two-way", "simultaneous", "none")
LONE = ("collapse", "fail", "remove", "certainty", "adjust", "average")
AXES = {"roc": ("linear", "log"), "det": ("normal", "log", "linear"), "pr": ("linear",)}
FORMATS = (*TABULAR, Format.R)


def certainty_options(bands: Sequence[str] = BANDS) -> Callable[[F], F]:
    """--bands, --confidence, --seed."""

    def add(command: F) -> F:
        for option in (
            click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
                         help="For methods that draw."),
            click.option("--confidence", type=CONFIDENCE, default=0.95,
                         show_default=True),
            click.option("--bands", type=click.Choice(list(bands)), default="auto", show_default=True,
                         help="Bands; auto takes pointwise ones that fit the sampling design."),
        ):  # fmt: skip
            command = option(command)
        return command

    return add


def design_options(command: F) -> F:
    """--stratum, --psu, --weights, --lone: how the cases were sampled, instead of what the test says."""
    for option in (
        click.option("--lone", type=click.Choice(LONE), default="collapse", show_default=True,
                     help="Strata of a single unit."),
        click.option("--weights", metavar="cases|equal|COLUMN|FILE", help="What a case, or a stratum, counts for."),
        click.option("--psu", metavar="COLUMN,...", help="Groups that were drawn; 'none' for none."),
        click.option("--stratum", metavar="COLUMN,...", help="Groups that a repetition would have; 'none' for none."),
    ):  # fmt: skip
        command = option(command)
    return command


def drawing_options(command: F) -> F:
    """--plot and --gnuplot."""
    for option in (
        click.option("--gnuplot", type=PATH, metavar="FILE", help="Write a gnuplot script with the data in it."),
        click.option("--plot", type=PATH, metavar="FILE.svg|png|pdf", help="Draw it."),
    ):
        command = option(command)
    return command


def curve_options(kind: str) -> Callable[[F], F]:
    """All options of a curve over a threshold."""
    axes = AXES[kind]

    def add(command: F) -> F:
        own = [
            click.option("--points", type=click.IntRange(min=0), metavar="N",
                         help="At most N points, 0 for all; by default all of a short curve, 1,000 of a long one."),
            click.option("--subjects", metavar="ROW,COLUMN",
                         help="Columns with the two subjects of a comparison, for two-way intervals."),
            click.option("--repeated", is_flag=True,
                         help="One algorithm on several sets of data: mean points with error ellipses."),
            click.option("--swept", metavar="PARAM",
                         help="One algorithm with several values of a parameter: a point for each transcript."),
            click.option("--cost", metavar="fp=10,fn=1,prior=0.01", help="The threshold of least expected cost."),
            click.option("--at", multiple=True, metavar="fpr=0.01",
                         help="An operating point: fpr=, fnr= or threshold=; may be repeated."),
        ]  # fmt: skip
        if len(axes) > 1:
            axes_option = click.option("--axes", type=click.Choice(axes), default=axes[0], show_default=True)
            command = axes_option(command)
        command = format_option(*FORMATS)(partial_option(drawing_options(command)))
        command = certainty_options()(design_options(command))
        for option in own:
            command = option(command)
        return sources_argument(command)

    return add


def draw_curves(kind: str, words: Sequence[str], given: dict[str, Any]) -> None:
    """Read or run, compute, print, draw."""
    check_drawing(given)
    wishes = _wishes(given)
    from harness.analysis.curves.crossing import crossed_pairs
    from harness.analysis.curves.make import make_curves

    curves = make_curves(read_runs(words, given), wishes, swept=given["swept"], repeated=given["repeated"])
    crossed = crossed_pairs(curves)
    _print(kind, chosen(given["style"]), curves, crossed, given["confidence"])
    if given["plot"] is not None:
        _plot(kind, curves, given["plot"], given.get("axes") or "linear")
    if given["gnuplot"] is not None:
        from harness.report.curve_sketch import curve_script

        script = curve_script(kind, curves, given.get("axes") or "linear", given["gnuplot"])
        write_script(given["gnuplot"], script)


def check_drawing(given: dict[str, Any]) -> None:
    """Refuse early what cannot be drawn or written in the end."""
    if given["plot"] is not None:
        from harness.report.plots.canvas import check_picture

        check_picture(given["plot"])
    if given["gnuplot"] is not None and not given["gnuplot"].parent.is_dir():
        raise OutputError(f"--gnuplot {given['gnuplot']}: no folder {given['gnuplot'].parent}; create it first")


def write_script(path: Path, text: str) -> None:
    """Write a gnuplot script."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}; the script was not written") from None
    remark(f"gnuplot script: {path}")


def _wishes(given: dict[str, Any]) -> Any:
    from harness.analysis.curves.wishes import Bands, Wishes, parse_at, parse_cost, parse_subjects

    return Wishes(
        bands=Bands(given["bands"]),
        confidence=given["confidence"],
        seed=given["seed"],
        points=given["points"],
        at=tuple(map(parse_at, given["at"])),
        cost=None if given["cost"] is None else parse_cost(given["cost"]),
        subjects=None if given["subjects"] is None else parse_subjects(given["subjects"]),
        design=design_of(given),
        partial=given["partial"],
    )


def design_of(given: dict[str, Any]) -> Any:
    """What the user says about the design."""
    from harness.analysis.comparing.sampling import DesignOptions

    stratum, psu = (None if given[key] is None else given[key].split(",") for key in ("stratum", "psu"))
    return DesignOptions(stratum, psu, given["weights"], given["lone"])


def _print(kind: str, style: Format, curves: Sequence[Any], crossed: Sequence[Any], confidence: float) -> None:
    from harness.report.curve_sketch import curve_data
    from harness.report.curves import curve_blocks

    if style in (Format.JSON, Format.R):
        from harness.analysis.curves.as_json import as_json

        print_payload(style, as_json(curves, crossed, confidence))
    elif style in (Format.PLAIN, Format.CSV):
        print_data(style, [curve_data(curve, confidence) for curve in curves])
    else:
        emit_document(style, curve_blocks(curves, crossed, kind, confidence), None)
    for curve in curves if style is not Format.TABLE else ():
        if curve.points.tpr.size < curve.whole:
            remark(f"{curve.name}: {curve.points.tpr.size:,} of {curve.whole:,} points; --points 0 gives all")


def print_payload(style: Format, payload: Any) -> None:
    """JSON, or the same for R."""
    if style is Format.R:
        from harness.report.r_data import to_r

        print(to_r(payload), end="")
    else:
        emit(style, Table([], []), payload)


def print_data(style: Format, data: Sequence[Any]) -> None:
    """Points: blocks for gnuplot, or one table."""
    from harness.report.curve_data import plain, table

    if style is Format.CSV:
        emit(style, table(data), None)
    else:
        print(plain(data), end="")


def _plot(kind: str, curves: Sequence[Any], path: Path, axes: str) -> None:
    from harness.report.plots.curves import plot_det, plot_pr, plot_roc

    {"roc": plot_roc, "det": plot_det, "pr": plot_pr}[kind](curves, path, axes=axes)
    remark(f"picture: {path}")
