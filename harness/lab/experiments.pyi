"""The experiments from Python: `from harness.lab.experiments import anova`. `experiments.pyi` has their signatures."""

# Made by `python -m tools.stubs`.

from collections.abc import Sequence
from harness.api.transcripts import Given
from harness.api.transcripts import Transcripts
from harness.lab.anova.report import AnovaResult
from harness.lab.galleries.report import GalleriesResult
from harness.lab.methods.report import MethodsResult
from harness.lab.permute.report import PermutationResult
from harness.lab.urn.report import UrnResult
from harness.lab.zoo.report import ZooResult
from pathlib import Path
from typing import Literal

__all__: list[str]

def anova(
    transcripts: Transcripts,
    *,
    by: str | Sequence[str],
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    weights: str | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> AnovaResult:
    """What matters to success, and what depends on what: an analysis of variance.

    >>> anova("wisard", by="truth,writer")

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.
        by (COLUMN,...): The columns whose effects and interactions are tested; noise:5 for 5 bins of a
            number, noise=0,10,20 for edges.
        stratum (COLUMN,...): Columns that make the strata: groups that a repetition of the test would
            have again; 'none' for none.
        psu (COLUMN,...): Columns that make the sampling units: groups that were drawn, and would be
            others in a repetition; 'none' for none.
        weights (cases|equal|COLUMN|FILE): How much each case or stratum counts.
        lone: What to do with strata that have a single unit.
        partial: Accept incomplete transcripts.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """

def galleries(
    matrices: str | Path | Sequence[str | Path],
    *,
    by: str,
    mix: bool = False,
    permutations: int = 999,
    labels: str | Path | Sequence[str | Path] | None = (),
    distance: bool = False,
    identity: str | None = None,
    gallery: str | Sequence[str] | None = (),
    probe: str | Sequence[str] | None = (),
    censor: int | None = None,
    bands: Literal['auto', 'wilson', 'brr', 'bootstrap', 'none'] = 'auto',
    ranks: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
) -> GalleriesResult:
    """Use each set of images as the gallery, and test whether the rates differ.

    >>> galleries(["faces.npy"], by="day")

    Args:
        matrices: Files of similarity matrices (.npy, .csv, .tsv, .parquet), or names of tests that have one.
        by: The images of each value of this column are the gallery in turn.
        mix: Also give each gallery an equal share of all images.
        permutations: How many permutations the test draws.
        labels: Labels of rows and columns (twice: of rows, of columns); by default the table beside the
            matrix.
        distance: Smaller is better: the matrix has distances, not similarities.
        identity: Whose image a label is: the first group of the pattern, or all that it matches.
        gallery (COLUMN=VALUE): Only such images in the gallery; one or several.
        probe (COLUMN=VALUE): Only such images as probes; one or several.
        censor: For the median: ranks beyond N count as N.
        bands: How bands are found; auto fits the design.
        ranks: Up to this rank.
        confidence: Confidence of the intervals.
        seed: Seed of the random numbers, where any are drawn.
        stratum (COLUMN,...): Columns that make the strata: groups that a repetition of the test would
            have again; 'none' for none.
        psu (COLUMN,...): Columns that make the sampling units: groups that were drawn, and would be
            others in a repetition; 'none' for none.
        lone: What to do with strata that have a single unit.
    """

def methods(
    given: Given | Sequence[Given],
    *,
    ranks: int | None = None,
    exclude_diagonal: bool = False,
    labels: str | Path | Sequence[str | Path] | None = (),
    distance: bool = False,
    identity: str | None = None,
    gallery: str | Sequence[str] | None = (),
    probe: str | Sequence[str] | None = (),
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    weights: str | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
    seed: int = 0,
) -> MethodsResult:
    """Standard errors over the rank by several methods.

    >>> methods("faces.npy", gallery="day=1", stratum="subject")

    Args:
        given: Transcripts of rank tests, or files of similarity matrices; one or several.
        ranks: Up to this rank.
        exclude_diagonal: Matrices: probe i and gallery image i are the same image, so leave that
            comparison out.
        labels: Labels of rows and columns (twice: of rows, of columns); by default the table beside the
            matrix.
        distance: Smaller is better: the matrix has distances, not similarities.
        identity: Whose image a label is: the first group of the pattern, or all that it matches.
        gallery (COLUMN=VALUE): Only such images in the gallery; one or several.
        probe (COLUMN=VALUE): Only such images as probes; one or several.
        stratum (COLUMN,...): Columns that make the strata: groups that a repetition of the test would
            have again; 'none' for none.
        psu (COLUMN,...): Columns that make the sampling units: groups that were drawn, and would be
            others in a repetition; 'none' for none.
        weights (cases|equal|COLUMN|FILE): How much each case or stratum counts.
        lone: What to do with strata that have a single unit.
        partial: Accept incomplete transcripts.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
        seed: Seed of the random numbers, where any are drawn.
    """

def permute(
    matrices: str | Path | Sequence[str | Path],
    *,
    subject: str = 'subject',
    differ: str | Sequence[str] | None = (),
    agree: str | Sequence[str] | None = (),
    experiments: int = 10000,
    ranks: int | None = None,
    sampling: Literal['balanced', 'unbalanced', 'both'] = 'balanced',
    labels: str | Path | Sequence[str | Path] | None = (),
    distance: bool = False,
    identity: str | None = None,
    gallery: str | Sequence[str] | None = (),
    probe: str | Sequence[str] | None = (),
    confidence: float = 0.95,
    seed: int = 0,
) -> PermutationResult:
    """Permute gallery and probe images of the same people: their recognition rates with other choices of image.

    >>> permute(["pca.npy", "lda.npy"], differ="day")

    Args:
        matrices: Files of similarity matrices (.npy, .csv, .tsv, .parquet), or names of tests that have one.
        subject: The column that says who it is.
        differ (COLUMN,...): A person's gallery and probe images differ in these columns, such as day.
        agree (COLUMN,...): A person's gallery and probe images agree in these columns, such as camera.
        experiments: How many experiments to draw.
        ranks: Up to this rank; by default up to 10, or as many as there are people.
        sampling: Take all pairs of a person's images equally often, or draw them for each person
            independently.
        labels: Labels of rows and columns (twice: of rows, of columns); by default the table beside the
            matrix.
        distance: Smaller is better: the matrix has distances, not similarities.
        identity: Whose image a label is: the first group of the pattern, or all that it matches.
        gallery (COLUMN=VALUE): Only such images in the gallery; one or several.
        probe (COLUMN=VALUE): Only such images as probes; one or several.
        confidence: Confidence of the intervals.
        seed: Seed of the random numbers, where any are drawn.
    """

def urn(
    sources: Transcripts,
    *,
    group: str,
    trial: str | None = None,
    elements: int | None = None,
    shuffle: str | Sequence[str] | None = (),
    resample: Literal['groups'] | None = None,
    groups: int | None = None,
    design: Literal['st', 'srs', 'cl'] | None = None,
    threshold: str | None = None,
    on: Literal['rank', 'score'] = 'rank',
    subject: str = 'subject',
    runs: int = 1,
    alpha: float = 0.05,
    permutations: int = 999,
    labels: str | Path | Sequence[str | Path] | None = (),
    distance: bool = False,
    identity: str | None = None,
    gallery: str | Sequence[str] | None = (),
    probe: str | Sequence[str] | None = (),
    seed: int = 0,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> UrnResult:
    """Which sampling design explains how a rate varies from trial to trial.

    >>> urn("weather.jsonl", group="subject", trial="time")

    Args:
        sources: Transcripts, or files of similarity matrices; one or several.
        group: The partition to test, such as subject or image.
        trial: What is repeated, such as a day or a data collection; 'source' for files.
        elements: How many repetitions make a trial; by default 4 where a group has one element in each,
            else 1.
        shuffle (COLUMN,...): Randomise these cofactors within the groups, such as time.
        resample: Draw other groups for every trial.
        groups: With resample: how many groups a trial has; by default a tenth of them.
        design: The design to test; st, or cl with resample.
        threshold: Where success begins: 1, or 1,5,10, or 0:1:0.1.
        on: Matrices: what the threshold applies to.
        subject: Matrices: the column that says who it is.
        runs: Repeat the analysis N times, each time with a random half of the repetitions.
        alpha: Reject a design whose p-value is at most this.
        permutations: How many permutations the test draws.
        labels: Labels of rows and columns (twice: of rows, of columns); by default the table beside the
            matrix.
        distance: Smaller is better: the matrix has distances, not similarities.
        identity: Whose image a label is: the first group of the pattern, or all that it matches.
        gallery (COLUMN=VALUE): Only such images in the gallery; one or several.
        probe (COLUMN=VALUE): Only such images as probes; one or several.
        seed: Seed of the random numbers, where any are drawn.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """

def zoo(
    transcripts: Transcripts,
    *,
    subjects: str | Sequence[str],
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> ZooResult:
    """Who verifies badly, who is imitated, who imitates: the biometric zoo.

    >>> zoo("mine.jsonl", subjects="claimed,real")

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.
        subjects (CLAIMED,REAL): The columns of who was claimed and who it was.
        partial: Accept incomplete transcripts.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """
