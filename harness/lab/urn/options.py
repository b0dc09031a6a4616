"""Options of `hate urn`."""

from harness.options import DownloadOptions, Range, SeedOptions, option
from harness.options.curves import MatrixOptions


class UrnOptions(MatrixOptions, SeedOptions, DownloadOptions):
    """What is repeated, how it is grouped, and how the test is made."""

    group: str = option("--group", metavar="COLUMN", help="The partition to test, such as subject or image.")
    trial: str | None = option(
        "--trial",
        default=None,
        metavar="COLUMN",
        help="What is repeated, such as a day or a data collection; 'source' for files.",
    )
    elements: int | None = option(
        "--elements",
        default=None,
        within=Range(1),
        metavar="M",
        help="How many repetitions make a trial; by default 4 where a group has one element in each, else 1.",
    )
    shuffle: tuple[str, ...] = option(
        "--shuffle",
        default=(),
        separator=",",
        metavar="COLUMN,...",
        help="Randomise these cofactors within the groups, such as time.",
    )
    resample: str | None = option(
        "--resample", default=None, choices=("groups",), help="Draw other groups for every trial."
    )
    groups: int | None = option(
        "--groups",
        default=None,
        within=Range(2),
        needs=("resample",),
        metavar="N",
        help="With --resample: how many groups a trial has; by default a tenth of them.",
    )
    design: str | None = option(
        "--design",
        default=None,
        choices=("st", "srs", "cl"),
        help="The design to test; st, or cl with --resample.",
    )
    threshold: str | None = option(
        "--threshold", default=None, metavar="VALUES", help="Where success begins: 1, or 1,5,10, or 0:1:0.1."
    )
    on: str = option("--on", default="rank", choices=("rank", "score"), help="Matrices: what the threshold applies to.")
    subject: str = option(
        "--subject", default="subject", metavar="COLUMN", help="Matrices: the column that says who it is."
    )
    runs: int = option(
        "--runs",
        default=1,
        within=Range(1, 1000),
        metavar="N",
        help="Repeat the analysis N times, each time with a random half of the repetitions.",
    )
    permutations: int = option(
        "--permutations",
        default=999,
        within=Range(19, 1_000_000),
        metavar="N",
        help="How many permutations the test draws.",
    )
    alpha: float = option(
        "--alpha",
        default=0.05,
        within=Range(0, 1, low_open=True, high_open=True),
        metavar="P",
        help="Reject a design whose p-value is at most this.",
    )

    @property
    def proposed(self) -> str:
        """The design that is tested."""
        return self.design or ("st" if self.resample is None else "cl")
