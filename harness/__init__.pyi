"""HATE, a Harness for Algorithm Testing and Exploration.

    import harness

    test = harness.load_test("hdigits")
    mine = harness.run(test, lambda case, params: "3", name="threes")
    print(harness.compare([mine, "wisard", "witch"]))

Each name is imported when it is first used, so that `import harness` is quick. `__init__.pyi` has their signatures."""

# Made by `python -m tools.stubs`.

from collections.abc import Callable, Iterable, Mapping, Sequence
from harness.api.caching import CacheListResult
from harness.api.caching import CacheVerifyResult
from harness.api.caching import ClearedCache
from harness.api.cases import CasesResult
from harness.api.checking import CheckResult
from harness.api.comparisons import CompareResult
from harness.api.confusion import ConfusionResult
from harness.api.curve_result import CurveResult
from harness.api.differences import DifferencesResult
from harness.api.fetching import FetchResult
from harness.api.importing import LoadResult
from harness.api.listing import ListedInterfaces
from harness.api.listing import ListedPlugins
from harness.api.listing import ListedTests
from harness.api.listing import ListedTranscripts
from harness.api.new import NewFiles
from harness.api.power import PowerResult
from harness.api.power import RuleResult
from harness.api.progress import ProgressChoice
from harness.api.rates import RateResult
from harness.api.rates import SequentialResult
from harness.api.regression import RegressionResult
from harness.api.reports import Report
from harness.api.runs import AnyTest
from harness.api.runs import RunResult
from harness.api.status import StatusResult
from harness.api.sweeps import SweepResult
from harness.api.tests import CaseListResult
from harness.api.tests import DescribeResult
from harness.api.train_folds import TrainFoldsResult
from harness.api.transcripts import Given
from harness.api.transcripts import Transcript
from harness.api.transcripts import Transcripts
from harness.api.tuning import TuneResult
from harness.errors import HateError as HateError
from harness.interface.estimator import EstimatorInterface
from harness.script.cases import CaseSet
from harness.server.app import SiteServer
from harness.server.publishing import PublishResult
from harness.server.submitting import SubmitResult
from harness.server.tokens import TokenListResult
from pathlib import Path
from typing import Any
from typing import Literal

__all__: list[str]
__version__: str

def add_token(
    name: str,
    *,
    per_day: int | None = None,
    tokens: str | Path,
) -> str:
    """Make a token for somebody who may submit transcripts; it is returned only this once.

    >>> harness.add_token("ann", tokens="tokens.db")

    Args:
        name: Who gets it; names and hashes are kept in the file, which is created if there is none.
        per_day: How many submissions NAME may make on a day, instead of what the server allows
            everyone.
        tokens: The file of tokens that `harness.serve` reads.
    """

def cases(
    test: AnyTest,
    *,
    part: Literal['cases', 'train', 'gallery'] = 'cases',
    truth: bool = False,
    limit: int | None = None,
    libraries: str | Sequence[str] | None = (),
    offline: bool = False,
) -> CaseListResult:
    """The cases of a test as a program is told of them, to compute answers elsewhere.

    >>> for case in harness.cases("hdigits", limit=2):
    ...     print(case["id"], case["input"])

    Args:
        test: What `load_test` returned, or a name, path or URL.
        part: The cases to answer, those to learn from, or the gallery of a rank test.
        truth: Also what a program is not told: expect, positive, truth.
        limit: Only the first N.
        libraries: Another folder to find tests in; one or several.
        offline: Do not use the network: only what is here or in the cache.
    """

def check(
    paths: str | Path | Sequence[str | Path],
) -> CheckResult:
    """Validate test scripts, interfaces and transcripts.

    >>> harness.check("my-test/").valid

    Args:
        paths: Files, or folders, in which every script, interface and transcript is checked. Python code that is found
            in a folder is read, not run; name its file to have it loaded.
    """

def check_regression(
    tests: AnyTest | Sequence[AnyTest],
    interface: object = None,
    *,
    junit: str | Path | None = None,
    output: str | Path | None = None,
    least: float | None = None,
    baseline: str | Sequence[str] | None = (),
    known_failures: str | Path | None = None,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    params: Mapping[str, object] | Sequence[str] | str | None = (),
    jobs: int | str = 1,
    timeout: float | str | None = None,
    limit: int | None = None,
    memory: int | str | None = None,
    no_network: bool = False,
    isolate: bool = False,
    lower: str | Sequence[str] | None = (),
    higher: str | Sequence[str] | None = (),
    gallery: str | Sequence[str] | None = (),
    probe: str | Sequence[str] | None = (),
    libraries: str | Sequence[str] | None = (),
    offline: bool = False,
    force: bool = False,
    cluster: str | None = None,
    no_vary: bool = False,
    progress: ProgressChoice = None,
) -> RegressionResult:
    """Run tests as a build does: has a program become worse?

    >>> assert harness.check_regression("hdigits", "wisard", least=0.9).passed

    Every case must succeed, unless `least`, `baseline` or `known_failures` allow some to fail.

    Args:
        tests: One or several: what `load_test` returned, a name or path, or a folder of tests.
        interface: As for `run`.
        progress: As for `run`.
        junit: Write the results as JUnit XML, for a build server.
        output: Keep a transcript; by default there is none.
        least: Pass when the rate is at least this, whichever cases fail.
        baseline: Pass unless significantly worse than this stored run; for several tests, one for each.
        known_failures: Pass when only these cases fail: a line for each, ID or TEST/ID.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        params (NAME=VALUE): Set a parameter; one or several.
        jobs (N|auto): Run N cases at a time, each in a process of its own; 'auto' for as many as there
            are cores to use.
        timeout: Give up on a case after this long; its program is killed and started again.
        limit: Only the first N cases.
        memory: Address space that each process of the algorithm may have: 500M, 2G.
        no_network: Run the algorithm without a network.
        isolate: Keep Python code out of the harness's own process: for a transcript that others are to
            believe.
        lower: Values of which less is better, such as costs; several with commas.
        higher: Values of which more is better; several with commas.
        gallery: Rank tests: only gallery images for which this holds, such as session=1; one or
            several.
        probe: Rank tests: only probes for which this holds, such as session=2; one or several.
        libraries: Another folder to find tests in; one or several.
        offline: Do not use the network: only what is here or in the cache.
        force: Overwrite existing files.
        cluster (ADDRESS|local:N): Run on the workers of a Dask scheduler, tcp://host:8786, or on N
            workers that are started here.
        no_vary: Only the originals of a test that varies its inputs on purpose.
    """

def clear_cache(
    kinds: str | Sequence[str] = (),
    *,
    older_than: float | None = None,
) -> ClearedCache:
    """Remove everything from the cache, or only some kinds of entries; nothing of your own is in there.

    >>> harness.clear_cache("runs", older_than=30)

    The keys of sites are kept elsewhere and stay; see `forget_site`. The result says how much was removed.

    Args:
        kinds: One or several, as `list_cache` names them; without any, all.
        older_than: Only what is older than this.
    """

def cmc(
    given: Given | Sequence[Given],
    *,
    censor: int | None = None,
    bands: Literal['auto', 'wilson', 'brr', 'bootstrap', 'none'] = 'auto',
    ranks: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
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
) -> CurveResult:
    """Cumulative match curves of transcripts of rank tests, and of similarity matrices.

    >>> harness.cmc("faces.npy", gallery="session=1")

    Args:
        given: Transcripts, or files of matrices (.npy, .csv, .tsv, .parquet); one or several.
        censor: For the median: ranks beyond N count as N.
        bands: How bands are found; auto fits the design.
        ranks: Up to this rank.
        confidence: Confidence of the intervals.
        seed: Seed of the random numbers, where any are drawn.
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
    """

def compare(
    transcripts: Transcripts,
    *,
    unpaired: bool = False,
    margin: float | None = None,
    items: bool = False,
    baseline: str | None = None,
    statistic: str | None = None,
    multiplicity: Literal['holm', 'max-t', 'hochberg', 'bh'] = 'holm',
    by: str | Sequence[str] | None = (),
    at: str | None = None,
    development: str | Sequence[str] | None = (),
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    weights: str | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
    method: Literal['auto', 'brr', 'fay', 'jackknife', 'bootstrap', 'linear'] = 'auto',
    fay: float | None = None,
    df: Literal['design', 'satterthwaite'] = 'design',
    confidence: float = 0.95,
    seed: int = 0,
    intersect: bool = False,
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
    cross_check: bool = False,
    folds: str | None = None,
    rope: float = 0.01,
) -> CompareResult:
    """Is A better than B? McNemar's test, replication by design, and verdicts, of two or more transcripts.

    >>> harness.compare(["wisard", "witch"], by="truth")

    With `unpaired=True` the transcripts are of other inputs in the same strata.

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned.
        unpaired: The transcripts have other inputs in the same strata, such as two sensors.
        margin: Test whether one is as good as another, within this difference.
        items: Show which cases separate the algorithms, and how stable the order is.
        baseline: Compare this one with all the others, instead of all pairs.
        statistic: What to compare: rate, tpr, tnr, fpr, fnr, precision, npv, balanced, hter,
            informedness, f1, mcc, kappa, auc, eer, average_precision, cllr, min_cllr, brier, ece,
            seconds, memory, mae, rmse, bias, iou, dice, pixel_tpr, pixel_fpr, pixel_precision,
            pixel_f1, miou, ap, ap50, ap75, ap_small, ap_medium, ap_large, object_recall,
            object_precision, object_f1, froc, fppi, missed, spurious, auc_binormal, cost:fp=10,fn=1,
            dcf:miss=1,fa=1,prior=0.01, pass@5, majority@5, rank1, rank5, min_dcf, fnr@fpr=0.001, or a
            value of the records by name. By default what counts in the test: of boxes ap, of masks iou,
            else the rate.
        multiplicity: How p-values of several pairs are corrected; max-t gives intervals that hold for
            all at once.
        by (COLUMN,...): Break down by a column; noise:5 for 5 bins of a number, noise=0,10,20 for
            edges, A,B for columns crossed; one or several, for each by itself.
        at (eer|fpr=RATE): First set each threshold there, on the recorded scores.
        development: With at: set the threshold on this run of the same algorithm on other cases; one or
            several.
        stratum (COLUMN,...): Columns that make the strata: groups that a repetition of the test would
            have again; 'none' for none.
        psu (COLUMN,...): Columns that make the sampling units: groups that were drawn, and would be
            others in a repetition; 'none' for none.
        weights (cases|equal|COLUMN|FILE): How much each case or stratum counts.
        lone: What to do with strata that have a single unit.
        method: How to estimate the errors from the design.
        fay: Fay's factor for BRR; 0.5 with method='fay'.
        df: Degrees of freedom: of the design, or by Satterthwaite's approximation.
        confidence: Confidence of the intervals.
        seed: Seed of the random numbers, where any are drawn.
        intersect: Use only the cases that all transcripts have.
        partial: Accept incomplete transcripts.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
        cross_check: Ask other methods too: a mixed-effects logistic model, and Bayesian probabilities.
        folds: The column with the fold of a cross-validation that a case was tested in: compare the
            folds too.
        rope: For second opinions (cross-check, folds): differences up to this are practically none.
    """

def compare_sequentially(
    transcripts: Transcripts,
    *,
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    weights: str | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
    confidence: float = 0.95,
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> SequentialResult:
    """The rates of the whole test, and the differences of every two runs, however often one has looked at them.

    The intervals also hold for runs that stopped early. Only the cases that all transcripts have count.

    >>> harness.compare_sequentially(["mine.jsonl", "wisard"])

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.
        stratum (COLUMN,...): Columns that make the strata: groups that a repetition of the test would
            have again; 'none' for none.
        psu (COLUMN,...): Columns that make the sampling units: groups that were drawn, and would be
            others in a repetition; 'none' for none.
        weights (cases|equal|COLUMN|FILE): How much each case or stratum counts.
        lone: What to do with strata that have a single unit.
        confidence: Confidence of the intervals.
        partial: Accept incomplete transcripts.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """

def compare_table(
    counts: Sequence[int | str],
    *,
    margin: float | None = None,
    items: bool = False,
    baseline: str | None = None,
    statistic: str | None = None,
    multiplicity: Literal['holm', 'max-t', 'hochberg', 'bh'] = 'holm',
    confidence: float = 0.95,
    seed: int = 0,
    cross_check: bool = False,
    rope: float = 0.01,
) -> CompareResult:
    """Compare two algorithms by four counts, where there are no transcripts: McNemar's test, and an interval.

    >>> harness.compare_table([58, 31, 9, 902])

    Args:
        counts: How often both failed, only A succeeded, only B succeeded, both succeeded.
        margin: Test whether one is as good as another, within this difference.
        items: Show which cases separate the algorithms, and how stable the order is.
        baseline: Compare this one with all the others, instead of all pairs.
        statistic: What to compare: rate, tpr, tnr, fpr, fnr, precision, npv, balanced, hter,
            informedness, f1, mcc, kappa, auc, eer, average_precision, cllr, min_cllr, brier, ece,
            seconds, memory, mae, rmse, bias, iou, dice, pixel_tpr, pixel_fpr, pixel_precision,
            pixel_f1, miou, ap, ap50, ap75, ap_small, ap_medium, ap_large, object_recall,
            object_precision, object_f1, froc, fppi, missed, spurious, auc_binormal, cost:fp=10,fn=1,
            dcf:miss=1,fa=1,prior=0.01, pass@5, majority@5, rank1, rank5, min_dcf, fnr@fpr=0.001, or a
            value of the records by name. By default what counts in the test: of boxes ap, of masks iou,
            else the rate.
        multiplicity: How p-values of several pairs are corrected; max-t gives intervals that hold for
            all at once.
        confidence: Confidence of the intervals.
        seed: Seed of the random numbers, where any are drawn.
        cross_check: Ask other methods too: a mixed-effects logistic model, and Bayesian probabilities.
        rope: For second opinions (cross-check, folds): differences up to this are practically none.
    """

def confusion(
    transcripts: Transcripts,
    *,
    threshold: float | None = None,
    positives: bool = False,
    pairs: int = 10,
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    weights: str | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
    confidence: float = 0.95,
    intersect: bool = False,
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> ConfusionResult:
    """Confusion matrices of label tests, and of the pixels of mask tests: the true class against the answer.

    >>> harness.confusion("wisard", threshold=5)

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.
        threshold: Answers below it are refusals; by default the run's own.
        positives: Only cases whose claim is true.
        pairs: Name the N most confused pairs of classes.
        stratum (COLUMN,...): Columns that make the strata: groups that a repetition of the test would
            have again; 'none' for none.
        psu (COLUMN,...): Columns that make the sampling units: groups that were drawn, and would be
            others in a repetition; 'none' for none.
        weights (cases|equal|COLUMN|FILE): How much each case or stratum counts.
        lone: What to do with strata that have a single unit.
        confidence: Confidence of the intervals.
        intersect: Use only the cases that all transcripts have.
        partial: Accept incomplete transcripts.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """

def convert(
    transcript: Given,
    file: str | Path,
    *,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
    force: bool = False,
) -> Transcript:
    """Store a transcript in another form, which the name of the file tells: .parquet, .gz, or else JSON Lines.

    >>> harness.convert("run.jsonl", "run.parquet")

    Nothing is lost: converted back, it has the very same bytes, with the same SHA-256 in its last line. The new
    transcript is returned.

    Args:
        transcript: A name, path or URL, or what `read`, `load` or `run` returned.
        file: What is written; its folder is made if there is none.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
        force: Overwrite existing files.
    """

def describe(
    test: AnyTest,
    *,
    libraries: str | Sequence[str] | None = (),
    offline: bool = False,
) -> DescribeResult:
    """What a test is about: data and training material and where it is, parameters, design, numbers of cases.

    >>> print(harness.describe("hdigits"))

    Args:
        test: What `load_test` returned, or a name, path or URL.
        libraries: Another folder to find tests in; one or several.
        offline: Do not use the network: only what is here or in the cache.
    """

def det(
    transcripts: Transcripts,
    *,
    at: str | Sequence[str] | None = (),
    cost: str | None = None,
    swept: str | None = None,
    repeated: bool = False,
    subjects: str | Sequence[str] | None = None,
    points: int | None = None,
    bands: Literal['auto', 'wilson', 'brr', 'bootstrap', 'two-way', 'simultaneous', 'none'] = 'auto',
    confidence: float = 0.95,
    seed: int = 0,
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    weights: str | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
    binormal: bool = False,
) -> CurveResult:
    """DET curves: both error rates against each other.

    >>> harness.det(["wisard", "witch"])

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.
        at (fpr=0.01): An operating point: fpr=, fnr= or threshold=; one or several.
        cost (fp=10,fn=1,prior=0.01): Find the threshold of least expected cost.
        swept: The transcripts are of one algorithm with several values of this parameter: a point for
            each.
        repeated: The transcripts are of one algorithm on several sets of data: mean points with error
            ellipses.
        subjects (ROW,COLUMN): Columns with the two subjects of a comparison, for two-way intervals.
        points: At most N points, 0 for all; by default all of a short curve, 1,000 of a long one.
        bands: How bands are found; auto takes pointwise ones that fit the sampling design.
        confidence: Confidence of the intervals.
        seed: Seed of the random numbers, where any are drawn.
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
        binormal: Fit a binormal curve to the scores, with the area under it.
    """

def diff(
    a: Given,
    b: Given,
    *,
    answers: bool = False,
    outcome: Literal['TP', 'TN', 'FP', 'FN', 'ER'] | Sequence[Literal['TP', 'TN', 'FP', 'FN', 'ER']] | None = (),
    where: str | Sequence[str] | None = (),
    sort: str | Sequence[str] | None = (),
    limit: int | None = None,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> DifferencesResult:
    """The cases on which two runs of a test differ, with the records of both.

    >>> print(harness.diff("wisard", "witch", outcome="FP", sort="-score_a", limit=5))

    In `where` and `sort`, `score_a` is the score of the first and `score_b` that of the second; `where="score=1"` holds
    when it does for either. A TranscriptError if the records of one contradict its test.

    Args:
        a: A transcript: a name, path or URL, or what `read`, `load` or `run` returned.
        b: Another one.
        answers: Also show cases of the same outcome where only the answers differ.
        outcome: Only cases with this outcome, ER for errors; one or several.
        where (COLUMN=VALUE): Only cases for which this holds (also !=, <, <=, >, >=); of several, all
            must hold.
        sort: Sort by a column, numbers as numbers, -COLUMN in descending order; one or several.
        limit: Only the first N of them.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """

def estimator(
    model: Any,
    *,
    load: Callable[[Any], Any],
    fit: bool | None = None,
    name: str | None = None,
    batch: int = 256,
) -> EstimatorInterface:
    """An estimator of scikit-learn, or any object with its methods, as the interface of `run`, `sweep` and `tune`.

    >>> harness.run("hdigits", harness.estimator(SVC(), load=lambda path: np.fromfile(path, np.uint8)[-64:]))

    It answers label tests (a classifier), score tests (a classifier gives its score of the claimed class or, where
    cases claim nothing, of the second of its two classes, which scikit-learn takes as the positive one; an outlier
    detector its decision value; the negative of it where a test wants distances) and value tests (a regressor).
    Pipelines and searches such as GridSearchCV are estimators too. It runs in this process, as functions of your
    program do.

    Numbers, texts, truth values and None among its parameters (`get_params`, also those of the steps of a pipeline,
    such as `svc__C`) are parameters of the algorithm: `sweep(..., params={"svc__C": [0.1, 1, 10]})` trains a model for
    each value. 1 is a whole number and 1.0 is not, in a text too.

    Args:
        model: Has `fit` and `predict`; for scores also `predict_proba` or `decision_function`. It is never changed: a
            clone of it is trained.
        load: Turns the input of a case, a path or text, into what the model takes as one row: a vector of features, or
            text for a pipeline that begins with a vectoriser.
        fit: Whether it is trained on the training part of the test; by default, if it is not fitted yet.
        name: What the algorithm is to be called, by default as the class of the model.
        batch: How many cases `predict` gets at once.
    """

def fetch(
    tests: AnyTest | Iterable[AnyTest],
    *,
    transcripts: bool = False,
    interfaces: str | Path | None = None,
    libraries: str | Sequence[str] | None = (),
    offline: bool = False,
    progress: bool | None = None,
) -> FetchResult:
    """Download all that tests need, so that they run without a network; what is here already is not downloaded again.

    >>> harness.fetch("hdigits")
    >>> harness.fetch(["hdigits", "hdigits/wisard"])

    The result names every part and its path: `.fetched`.

    Args:
        tests: Names, NAME@VERSION, paths or URLs of tests, or what `load_test` returned; TEST/NAME is a transcript. One
            or several.
        progress: Show downloads: see `run`.
        transcripts: Also download every transcript of the test at the sites.
        interfaces: Also copy the interfaces that are published with the test into FOLDER, to read;
            nothing runs them.
        libraries: Another folder to find tests in; one or several.
        offline: Do not use the network: only what is here or in the cache.
    """

def forget_site(
    site: str | Path,
) -> bool:
    """Forget the key and the last index of a site, and trust the next ones: only if its owner says that they are new.

    >>> harness.forget_site("https://example.org/tests/")

    Whether anything was known about the site.

    Args:
        site: Its address, or its folder.
    """

def froc(
    transcripts: Transcripts,
    *,
    iou: float | None = None,
    points: int | None = None,
    bands: Literal['auto', 'wilson', 'brr', 'bootstrap', 'two-way', 'simultaneous', 'none'] = 'auto',
    confidence: float = 0.95,
    seed: int = 0,
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    weights: str | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> CurveResult:
    """Free-response curves of one or several transcripts of tests of task boxes.

    >>> harness.froc(["blobs", "relief"], psu="scene")

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.
        iou: Objects: the overlap from which a box matches one; by default the run's own.
        points: At most N points, 0 for all; by default all of a short curve, 1,000 of a long one.
        bands: How bands are found; auto takes pointwise ones that fit the sampling design.
        confidence: Confidence of the intervals.
        seed: Seed of the random numbers, where any are drawn.
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

def fuse(
    transcripts: Transcripts,
    *,
    rule: Literal['majority', 'mean', 'ranks', 'logistic'] = 'majority',
    ties: Literal['refuse', 'first'] = 'refuse',
    learn: str | Sequence[str] | None = (),
    folds: int | None = None,
    psu: str | Sequence[str] | None = None,
    threshold: float | None = None,
    algorithm: str | None = None,
    output: str | Path | None = None,
    force: bool = False,
    seed: int = 0,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> RunResult:
    """Combine the answers of several runs of one test into a transcript like any other.

    >>> harness.fuse(["wisard", "witch"], rule="ranks", output="both.jsonl")

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned.
        rule: Votes; the mean of scores, by median and spread or by ranks; or weights by logistic
            regression.
        ties: What a tie gives: a refusal, or the first run's answer.
        learn: Logistic: a transcript of the same algorithm on other cases; one for each, in the same
            order.
        folds: Logistic: learn on K - 1 of K parts of the sampling units, and fuse the other part.
        psu (COLUMN,...): Columns that make the sampling units, for folds; by default those of the test.
        threshold: Threshold of the fused score; by default it follows the rule.
        algorithm: Name of the result; by default A+B.
        output: The transcript; with .gz it is compressed.
        force: Overwrite an existing transcript.
        seed: Seed of the random numbers, where any are drawn.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """

def list_cache(
    *,
    all: bool = False,
) -> CacheListResult:
    """What is in the cache: the tests of sites, and how much there is of the rest.

    >>> harness.list_cache()

    The result has the folder of the cache, `.folder`, and a row for each test or kind, `.rows`.

    Args:
        all: List every entry, not only tests.
    """

def list_interfaces(
) -> ListedInterfaces:
    """The interface in the working folder, and those that ship with the harness; no code is run.

    >>> harness.list_interfaces().to_frame()
    """

def list_plugins(
) -> ListedPlugins:
    """What other packages bring in, each plug-in loaded and checked.

    >>> [plugin["name"] for plugin in harness.list_plugins() if plugin["problem"]]
    """

def list_tests(
    *,
    libraries: str | Sequence[str] | None = (),
    offline: bool = False,
) -> ListedTests:
    """The tests that are here and at the configured sites; a remark says what is wrong with others.

    >>> [test["name"] for test in harness.list_tests()]

    Nothing is downloaded or unpacked to count cases: where that would be needed, `cases` is None.

    Args:
        libraries: Another folder to find tests in; one or several.
        offline: Do not use the network: only what is here or in the cache.
    """

def list_tokens(
    *,
    tokens: str | Path,
) -> TokenListResult:
    """Who has a token, the oldest first.

    >>> harness.list_tokens(tokens="tokens.db")

    Args:
        tokens: The file of tokens that `harness.serve` reads.
    """

def list_transcripts(
    *,
    offline: bool = False,
) -> ListedTranscripts:
    """The transcripts that are here, those that ship with the harness, and those at the sites; the newest first.

    >>> for run in harness.list_transcripts():
    ...     print(run["test"], run["algorithm"], run["rate"], run["path"])

    Of a site with very many, only the first are listed.

    Args:
        offline: Do not use the network: only what is here or in the cache.
    """

def load(
    files: str | Path | Iterable[str | Path],
    *,
    output: str | Path | None = None,
    fold: bool = False,
    force: bool = False,
    reader: str | None = None,
    metric: str | None = None,
    success_at: float | str | None = None,
    id: str | None = None,
    expect: str | None = None,
    actual: str | None = None,
    score: str | None = None,
    success: str | None = None,
    positive: str | None = None,
    repeat: str | None = None,
    values: str | Sequence[str] | None = (),
    positive_label: str | None = None,
    truth: str | Path | None = None,
    kind: Literal['boxes', 'mask'] = 'boxes',
    key: str | Path | None = None,
    stratum: str | None = None,
    psu: str | None = None,
    test: str | None = None,
    version: str | None = None,
    algorithm: str | None = None,
    partial: bool = False,
    lower: str | Sequence[str] | None = (),
    higher: str | Sequence[str] | None = (),
) -> LoadResult:
    """Results of another tool as transcripts, one for each run in them.

    >>> mine = harness.load("predictions.csv", test="toy", algorithm="mine")
    >>> print(harness.compare([mine, harness.load("logs/other.eval")]))

    A file is recognised by its content: logs of inspect_ai, lm-evaluation-harness and promptfoo, COCO and TREC files,
    lists of scores, tables of predictions. Columns of a table are known by their usual names (y_true, y_pred,
    y_score), or named by options; nested keys have dots.

    Without `output`, nothing is written into the working folder: the transcripts are in a temporary folder until the
    program ends, and `convert` keeps one of them.

    Args:
        files: One or several.
        output: The transcript; with .gz it is compressed.
        fold: The files are logs of one task with different seeds: make one transcript with an answer
            from each.
        force: Overwrite an existing transcript.
        reader: The tool that wrote it, if the content does not show it.
        metric: Which of several metrics decides.
        success_at: Partial credit: an answer is right if its mark is at least X.
        id: The case; also for tools whose own ids are only positions.
        expect: Tables: the right answer.
        actual: Tables: the answer given.
        score: Tables: its score.
        success: Tables: whether it was right.
        positive: Tables: whether the claim is true and should be accepted (true by default).
        repeat: Tables: which of several answers to the same case.
        values: Tables: a column of numbers to keep; other tools: a metric (all by default). Several
            with commas.
        positive_label: Predictions: the class to detect; all others are negative.
        truth: COCO: the file of the truth, with images and annotations.
        kind: COCO: judge boxes, or the pixels of segmentations.
        key: What is true, in a file of its own: the list of trials, or a TREC run's judgements of
            relevance.
        stratum: Groups that are fixed; separate several with commas.
        psu: Groups that were drawn: subjects, documents, repositories.
        test: Name of the test; by default, of the task.
        version: Its version.
        algorithm: Name of the algorithm; by default, of the model.
        partial: Import a log that is incomplete.
        lower: Values of which less is better, such as costs; several with commas.
        higher: Values of which more is better; several with commas.
    """

def load_test(
    name: AnyTest,
    *,
    libraries: str | Path | Sequence[str | Path] = (),
    offline: bool = False,
    progress: bool | None = None,
) -> CaseSet:
    """A test with its data at hand.

    >>> len(harness.load_test("hdigits"))

    It has a length, the number of cases; going through it gives each case with `id`, `input`, `expect`, `positive`,
    `truth` and `columns`.

    Args:
        name: Its name, NAME@VERSION, path or URL; a test that was loaded is returned as it is.
        libraries: More folders to find tests in; one or several.
        offline: Do not use the network: only what is here or in the cache.
        progress: Show downloads: see `run`.
    """

def make_report(
    transcripts: Transcripts,
    *,
    title: str | None = None,
    by: str | Sequence[str] | None = (),
    cases: int = 24,
    baseline: str | None = None,
    statistic: str | None = None,
    multiplicity: Literal['holm', 'max-t', 'hochberg', 'bh'] = 'holm',
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    weights: str | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
    confidence: float = 0.95,
    seed: int = 0,
    intersect: bool = False,
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> Report:
    """The data sheet of one transcript, or the comparison of several.

    >>> harness.make_report("wisard").write("sheet.html")

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.
        title: The title of the page.
        by: Break down by this column; one or several. By default all that the test declares, and others
            with few groups.
        cases: Show at most N cases of a kind, with their inputs if these are here.
        baseline: Compare this one with all the others, instead of all pairs.
        statistic: What to compare: rate, tpr, tnr, fpr, fnr, precision, npv, balanced, hter,
            informedness, f1, mcc, kappa, auc, eer, average_precision, cllr, min_cllr, brier, ece,
            seconds, memory, mae, rmse, bias, iou, dice, pixel_tpr, pixel_fpr, pixel_precision,
            pixel_f1, miou, ap, ap50, ap75, ap_small, ap_medium, ap_large, object_recall,
            object_precision, object_f1, froc, fppi, missed, spurious, auc_binormal, cost:fp=10,fn=1,
            dcf:miss=1,fa=1,prior=0.01, pass@5, majority@5, rank1, rank5, min_dcf, fnr@fpr=0.001, or a
            value of the records by name. By default what counts in the test: of boxes ap, of masks iou,
            else the rate.
        multiplicity: How p-values of several pairs are corrected; max-t gives intervals that hold for
            all at once.
        stratum (COLUMN,...): Columns that make the strata: groups that a repetition of the test would
            have again; 'none' for none.
        psu (COLUMN,...): Columns that make the sampling units: groups that were drawn, and would be
            others in a repetition; 'none' for none.
        weights (cases|equal|COLUMN|FILE): How much each case or stratum counts.
        lone: What to do with strata that have a single unit.
        confidence: Confidence of the intervals.
        seed: Seed of the random numbers, where any are drawn.
        intersect: Use only the cases that all transcripts have.
        partial: Accept incomplete transcripts.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """

def new_interface(
    name: str | None = None,
    *,
    kind: Literal['python', 'command', 'stream'] = 'python',
) -> NewFiles:
    """Write an example `interface.py`, or `interface.toml`, into the working folder.

    >>> harness.new_interface("mine", kind="command")

    Args:
        name: What the algorithm is called; by default, like the folder.
        kind: How the program is reached.
    """

def new_matrix(
    path: str | Path = 'synthetic.npy',
    *,
    subjects: int = 256,
    images: int = 4,
    effects: str | Sequence[str] | None = (),
    separation: float = 3.0,
    seed: int = 0,
    force: bool = False,
) -> NewFiles:
    """Write a similarity matrix, every image against every other, with labels and the recipe it was made from.

    >>> harness.new_matrix("made.npy", subjects=256, images=4, effects=["day=0.3"])

    An effect adds to the right comparisons of a probe what was drawn for its level, from a normal distribution of
    standard deviation SD; the noise of a comparison has 1. `day=0.3`: image k of everyone was taken on day k.
    `day=0.3/45`: on one of 45 days, at random.

    Args:
        path: The file of the matrix; it ends in .npy.
        subjects: People.
        images: How many images of each subject.
        effects (NAME=SD[/LEVELS]): A variance component: subject, image, or a column of its own; one or
            several.
        separation: How far right comparisons are above wrong ones, in standard deviations of the noise.
        seed: Seed of the random numbers, where any are drawn.
        force: Overwrite existing files.
    """

def new_script(
    name: str,
    *,
    task: str = 'label',
) -> NewFiles:
    """Write an example of a test, NAME/NAME.hate.toml, and a table of cases.

    >>> harness.new_script("my-test", task="score")

    Args:
        name: What the test is called: small letters, digits, dots, _ and -.
        task: What is asked: label, score, rank, value, mask, boxes, or a plug-in's.
    """

def power(
    transcripts: Transcripts | None = None,
    *,
    difference: float | None = None,
    margin: float | None = None,
    width: float | None = None,
    rule_of_30: float | None = None,
    rates: float | Sequence[float] | None = None,
    discordance: float | None = None,
    per_unit: float = 1.0,
    icc: float = 0.0,
    strata: int = 1,
    algorithms: int = 2,
    power: float = 0.8,
    units: int | None = None,
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    weights: str | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
    confidence: float = 0.95,
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> PowerResult | RuleResult:
    """Plan a test, from figures or from one or two pilot transcripts.

    >>> harness.power(difference=0.02, discordance=0.1)
    >>> harness.power(["wisard", "witch"], difference=0.02)

    Args:
        transcripts: One or two pilot runs; names, paths, URLs, or what `run`, `read` and `fuse` returned.
        difference: The difference of rates to show.
        margin: Show that two algorithms differ by less than this.
        width: The width that the interval of a rate may have.
        rule_of_30: Trials that an error rate takes, by the rules of 3 and of 30 (ISO/IEC 19795-1).
        rates (A[,B]): The rates that are expected.
        discordance: The share of cases on which exactly one of the two is right.
        per_unit: Cases in a unit.
        icc: Intraclass correlation within units.
        strata: Number of strata.
        algorithms: How many will be compared; the level of each pair is Holm's.
        power: How likely the test should succeed.
        units: What N units show, instead.
        stratum (COLUMN,...): Columns that make the strata: groups that a repetition of the test would
            have again; 'none' for none.
        psu (COLUMN,...): Columns that make the sampling units: groups that were drawn, and would be
            others in a repetition; 'none' for none.
        weights (cases|equal|COLUMN|FILE): How much each case or stratum counts.
        lone: What to do with strata that have a single unit.
        confidence: Confidence of the intervals.
        partial: Accept incomplete transcripts.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """

def pr(
    transcripts: Transcripts,
    *,
    iou: float | None = None,
    at: str | Sequence[str] | None = (),
    cost: str | None = None,
    swept: str | None = None,
    repeated: bool = False,
    subjects: str | Sequence[str] | None = None,
    points: int | None = None,
    bands: Literal['auto', 'wilson', 'brr', 'bootstrap', 'two-way', 'simultaneous', 'none'] = 'auto',
    confidence: float = 0.95,
    seed: int = 0,
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    weights: str | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
    binormal: bool = False,
) -> CurveResult:
    """Curves of precision over recall.

    >>> harness.pr(["wisard", "witch"])

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.
        iou: Objects: the overlap from which a box matches one; by default the run's own.
        at (fpr=0.01): An operating point: fpr=, fnr= or threshold=; one or several.
        cost (fp=10,fn=1,prior=0.01): Find the threshold of least expected cost.
        swept: The transcripts are of one algorithm with several values of this parameter: a point for
            each.
        repeated: The transcripts are of one algorithm on several sets of data: mean points with error
            ellipses.
        subjects (ROW,COLUMN): Columns with the two subjects of a comparison, for two-way intervals.
        points: At most N points, 0 for all; by default all of a short curve, 1,000 of a long one.
        bands: How bands are found; auto takes pointwise ones that fit the sampling design.
        confidence: Confidence of the intervals.
        seed: Seed of the random numbers, where any are drawn.
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
        binormal: Fit a binormal curve to the scores, with the area under it.
    """

def publish(
    paths: Given | CaseSet | Iterable[Given | CaseSet | Sequence[Given]] = (),
    *,
    to: str | None = None,
    name: str = '',
    for_test: str = '',
    dry_run: bool = False,
    key: str | Path | None = None,
    new_key: str | Path | None = None,
    mirrors: str | Sequence[str] | None = (),
    title: str | None = None,
    url: str | None = None,
    pages: bool = False,
    tidy: bool = False,
    root_key: str | Path | None = None,
    allow: str | Sequence[str] | None = (),
    revoke: str | Sequence[str] | None = (),
    new_root: str = '',
    expires: int | None = None,
    blind: bool = False,
    reveal: bool = False,
    private: str | Path | None = None,
    progress: ProgressChoice = None,
) -> PublishResult:
    """Add tests, transcripts and interfaces to a site, a folder that any web server can serve.

    >>> harness.publish(["my-test/", "mine.jsonl"], to="./site")

    All of it is checked first, and nothing of it is run; readers see all of it or nothing. What was published before
    stays as it is. The result says what happened to each, `.published`, and `.new_key` is the public part of a key that
    was made. If something goes wrong when a part was done, the `note` of the error says so.

    Args:
        paths: The folder or script of a test, or what `load_test` returned; a transcript of a test that is published
            there, by file or name, or what `run`, `read` and `fuse` returned; or an interface for a test. One or
            several, or none to change the site.
        progress: Of writing pages; as for `run`.
        to: The folder of the site, created if there is none.
        name: Publish a transcript or an interface under this name instead of its file's.
        for_test: The test that an interface is for, if it is published already.
        dry_run: Check, and say what would be done; write nothing.
        key: Sign with this Ed25519 key.
        new_key: Create a key to sign with, and print its public part.
        mirrors: Where else the site's files are; one or several, and replaces all earlier mirrors.
        title: The title of the site.
        url: Where people find the site, for the commands that its pages show.
        pages: Also write pages for people, so that any web server shows them; from then on with every
            change.
        tidy: Remove files that the site's index has not named for a day.
        root_key: The key, kept offline, that says which keys may sign the site; with allow, revoke,
            new_root.
        allow: Let this key sign from now on; its public part, or its file.
        revoke: Never trust this key again; readers refuse what it signs.
        new_root: Hand over to another root key; the old one signs this.
        expires: Readers refuse the site's index DAYS after its last change, 0 for never; also renews
            it.
        blind: Publish tests without expect, positive and truth, nor columns that tell them;
            `harness.serve` judges what is handed in.
        reveal: Publish a new version of a blind test with its truth; without this, or blind=True, it is
            refused.
        private: Where the truth of blind tests is kept; by default beside the site's folder, with
            .private in its name.
    """

def rate(
    transcripts: Transcripts,
    *,
    statistic: str | None = None,
    by: str | Sequence[str] | None = (),
    at: str | None = None,
    development: str | Sequence[str] | None = (),
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    weights: str | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
    confidence: float = 0.95,
    seed: int = 0,
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> RateResult:
    """Transcripts one by one: measures with errors by design, groups, the worst of them, and the gap.

    >>> harness.rate("wisard", by="truth", statistic="rate,tpr")

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.
        statistic (NAME,...): What to measure, with commas between several: rate, tpr, tnr, fpr, fnr,
            precision, npv, balanced, hter, informedness, f1, mcc, kappa, auc, eer, average_precision,
            cllr, min_cllr, brier, ece, seconds, memory, mae, rmse, bias, iou, dice, pixel_tpr,
            pixel_fpr, pixel_precision, pixel_f1, miou, ap, ap50, ap75, ap_small, ap_medium, ap_large,
            object_recall, object_precision, object_f1, froc, fppi, missed, spurious, auc_binormal,
            cost:fp=10,fn=1, dcf:miss=1,fa=1,prior=0.01, pass@5, majority@5, rank1, rank5, min_dcf,
            fnr@fpr=0.001, or a value of the records by name. By default the usual ones that a run has.
        by (COLUMN,...): Break down by a column; noise:5 for 5 bins of a number, noise=0,10,20 for
            edges, A,B for columns crossed; one or several, for each by itself.
        at (eer|fpr=RATE): First set each threshold there, on the recorded scores.
        development: With at: set the threshold on this run of the same algorithm on other cases; one or
            several.
        stratum (COLUMN,...): Columns that make the strata: groups that a repetition of the test would
            have again; 'none' for none.
        psu (COLUMN,...): Columns that make the sampling units: groups that were drawn, and would be
            others in a repetition; 'none' for none.
        weights (cases|equal|COLUMN|FILE): How much each case or stratum counts.
        lone: What to do with strata that have a single unit.
        confidence: Confidence of the intervals.
        seed: Seed of the random numbers, where any are drawn.
        partial: Accept incomplete transcripts.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """

def read(
    name: Given,
    *,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> Transcript:
    """A transcript: its header, its counts, its records.

    >>> harness.read("wisard").counts

    Args:
        name: A name, path or URL, or what `run` or `load` returned.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """

def remove_token(
    name: str,
    *,
    tokens: str | Path,
) -> None:
    """Revoke somebody's token, also for a server that is running.

    >>> harness.remove_token("ann", tokens="tokens.db")

    Args:
        name: Who has the token.
        tokens: The file of tokens that `harness.serve` reads.
    """

def roc(
    transcripts: Transcripts,
    *,
    at: str | Sequence[str] | None = (),
    cost: str | None = None,
    swept: str | None = None,
    repeated: bool = False,
    subjects: str | Sequence[str] | None = None,
    points: int | None = None,
    bands: Literal['auto', 'wilson', 'brr', 'bootstrap', 'two-way', 'simultaneous', 'none'] = 'auto',
    confidence: float = 0.95,
    seed: int = 0,
    stratum: str | Sequence[str] | None = None,
    psu: str | Sequence[str] | None = None,
    weights: str | None = None,
    lone: Literal['collapse', 'fail', 'remove', 'certainty', 'adjust', 'average'] = 'collapse',
    partial: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
    binormal: bool = False,
) -> CurveResult:
    """ROC curves of one or several transcripts, with areas, bands and operating points.

    >>> harness.roc(["wisard", "witch"], at="fpr=0.01")

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.
        at (fpr=0.01): An operating point: fpr=, fnr= or threshold=; one or several.
        cost (fp=10,fn=1,prior=0.01): Find the threshold of least expected cost.
        swept: The transcripts are of one algorithm with several values of this parameter: a point for
            each.
        repeated: The transcripts are of one algorithm on several sets of data: mean points with error
            ellipses.
        subjects (ROW,COLUMN): Columns with the two subjects of a comparison, for two-way intervals.
        points: At most N points, 0 for all; by default all of a short curve, 1,000 of a long one.
        bands: How bands are found; auto takes pointwise ones that fit the sampling design.
        confidence: Confidence of the intervals.
        seed: Seed of the random numbers, where any are drawn.
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
        binormal: Fit a binormal curve to the scores, with the area under it.
    """

def run(
    test: AnyTest,
    interface: object = None,
    *,
    output: str | Path | None = None,
    resume: bool = False,
    retry_errors: bool = False,
    force: bool = False,
    params: Mapping[str, object] | Sequence[str] | str | None = (),
    repeat: int = 1,
    jobs: int | str = 1,
    timeout: float | str | None = None,
    limit: int | None = None,
    memory: int | str | None = None,
    no_network: bool = False,
    isolate: bool = False,
    lower: str | Sequence[str] | None = (),
    higher: str | Sequence[str] | None = (),
    gallery: str | Sequence[str] | None = (),
    probe: str | Sequence[str] | None = (),
    libraries: str | Sequence[str] | None = (),
    offline: bool = False,
    stop_when: str | None = None,
    order_seed: int = 0,
    cluster: str | None = None,
    no_vary: bool = False,
    name: str | None = None,
    progress: ProgressChoice = None,
) -> RunResult:
    """Run a test and leave a transcript, as `hate run` does.

    >>> harness.run("hdigits", lambda case, params: "3", name="threes")

    A function or class of your own program runs in this process: with `jobs` in as many threads, which helps where it
    waits for something else; a time limit needs an `interface.py`, whose processes can be stopped.

    Args:
        test: What `load_test` returned, or a name, path or URL.
        interface: A function `(case, params)` that returns an answer; a class or an object with `answer`, and perhaps
            `train`, `enrol`, `answer_batch` and `close`, as in an `interface.py`; the name of a bundled interface; a
            path; by default `interface.py` or `interface.toml` in the working folder.
        name: What the algorithm is to be called.
        progress: By default, a bar on a terminal or in a notebook if the run takes longer than a moment, and nothing if
            stderr goes into a file or a pipe. True: a bar at once, or lines on stderr where there is no place for a
            bar. False: nothing. An object with `begin(total, done)`, `advance(done, errors)` and `end()` is told
            instead.
        output: The transcript, compressed if it ends in .gz; by default
            transcripts/TEST/ALGORITHM.jsonl, or -2, -3 if that exists.
        resume: Carry on with a run that was stopped.
        retry_errors: Run only the cases in error again.
        force: Overwrite an existing transcript; without output, ALGORITHM.jsonl.
        params (NAME=VALUE): Set a parameter; one or several.
        repeat: Ask each case K times, for randomised algorithms.
        jobs (N|auto): Run N cases at a time, each in a process of its own; 'auto' for as many as there
            are cores to use.
        timeout: Give up on a case after this long; its program is killed and started again.
        limit: Only the first N cases.
        memory: Address space that each process of the algorithm may have: 500M, 2G.
        no_network: Run the algorithm without a network.
        isolate: Keep Python code out of the harness's own process: for a transcript that others are to
            believe.
        lower: Values of which less is better, such as costs; several with commas.
        higher: Values of which more is better; several with commas.
        gallery: Rank tests: only gallery images for which this holds, such as session=1; one or
            several.
        probe: Rank tests: only probes for which this holds, such as session=2; one or several.
        libraries: Another folder to find tests in; one or several.
        offline: Do not use the network: only what is here or in the cache.
        stop_when: Ask units in random order, and stop when the rate of the whole test is known that
            well.
        order_seed: Seed of that random order.
        cluster (ADDRESS|local:N): Run on the workers of a Dask scheduler, tcp://host:8786, or on N
            workers that are started here.
        no_vary: Only the originals of a test that varies its inputs on purpose.
    """

def run_train_folds(
    test: AnyTest,
    interface: object = None,
    *,
    train_folds: int = 5,
    output: str | Path | None = None,
    resume: bool = False,
    retry_errors: bool = False,
    force: bool = False,
    params: Mapping[str, object] | Sequence[str] | str | None = (),
    repeat: int = 1,
    jobs: int | str = 1,
    timeout: float | str | None = None,
    limit: int | None = None,
    memory: int | str | None = None,
    no_network: bool = False,
    isolate: bool = False,
    lower: str | Sequence[str] | None = (),
    higher: str | Sequence[str] | None = (),
    gallery: str | Sequence[str] | None = (),
    probe: str | Sequence[str] | None = (),
    libraries: str | Sequence[str] | None = (),
    offline: bool = False,
    stop_when: str | None = None,
    order_seed: int = 0,
    train_seed: int = 0,
    cluster: str | None = None,
    no_vary: bool = False,
    name: str | None = None,
    progress: ProgressChoice = None,
) -> TrainFoldsResult:
    """Train and run a test several times, each time without another fold of the training part.

    >>> harness.run_train_folds("hdigits", "wisard", train_folds=5)

    It has the variance of training, case and run, and a transcript for each fold.

    Args:
        test: What `load_test` returned, or a name, path or URL.
        interface: As for `run`.
        name: What the algorithm is to be called.
        progress: As for `run`.
        train_folds: How many folds.
        output: The transcript, compressed if it ends in .gz; by default
            transcripts/TEST/ALGORITHM.jsonl, or -2, -3 if that exists.
        resume: Carry on with a run that was stopped.
        retry_errors: Run only the cases in error again.
        force: Overwrite an existing transcript; without output, ALGORITHM.jsonl.
        params (NAME=VALUE): Set a parameter; one or several.
        repeat: Ask each case K times, for randomised algorithms.
        jobs (N|auto): Run N cases at a time, each in a process of its own; 'auto' for as many as there
            are cores to use.
        timeout: Give up on a case after this long; its program is killed and started again.
        limit: Only the first N cases.
        memory: Address space that each process of the algorithm may have: 500M, 2G.
        no_network: Run the algorithm without a network.
        isolate: Keep Python code out of the harness's own process: for a transcript that others are to
            believe.
        lower: Values of which less is better, such as costs; several with commas.
        higher: Values of which more is better; several with commas.
        gallery: Rank tests: only gallery images for which this holds, such as session=1; one or
            several.
        probe: Rank tests: only probes for which this holds, such as session=2; one or several.
        libraries: Another folder to find tests in; one or several.
        offline: Do not use the network: only what is here or in the cache.
        stop_when: Ask units in random order, and stop when the rate of the whole test is known that
            well.
        order_seed: Seed of that random order.
        train_seed: With train_folds: seed of the folds.
        cluster (ADDRESS|local:N): Run on the workers of a Dask scheduler, tcp://host:8786, or on N
            workers that are started here.
        no_vary: Only the originals of a test that varies its inputs on purpose.
    """

def serve(
    site: str | Path,
    *,
    host: str = '127.0.0.1',
    port: int = 8000,
    tokens: str | Path | None = None,
    key: str | Path | None = None,
    largest: int | str = 104857600,
    rate_limit: int = 60,
    per_day: int = 1000,
    blind_per_day: int = 5,
    private: str | Path | None = None,
    isolated: bool = False,
    proxies: str | Sequence[str] | None = (),
    access_log: bool = False,
) -> SiteServer:
    """Serve the site in a folder: its files, as any web server would, and pages for people.

    >>> with harness.serve("./site", port=0) as server:
    ...     print(server.url)

    The server runs in a thread of this process until the end of the `with` block. Without one, `.stop()` ends it, and
    `.wait()` lets it run until Ctrl-C. It is read-only unless `tokens` says who may submit; see `add_token`. What it
    has to say goes to Python's `logging`.

    Args:
        site: A folder made by `publish`.
        host: The address to listen on; 0.0.0.0 for the whole network.
        port: The port; 0 takes a free one.
        tokens: Accept transcripts from those whose tokens are in FILE.
        key: Sign what is submitted; needed where the site is signed.
        largest: Refuse a submission that is larger, or unpacks to more.
        rate_limit: How many submissions a token may make in an hour.
        per_day: How many submissions each name may make on a day; `harness.set_token_quota` sets it for
            one.
        blind_per_day: How many submissions each name may make on a day for one blind test.
        private: Where `harness.publish` put the truth of blind tests, if told where.
        isolated: Accept only runs whose code was kept apart from the judge (`isolate` of
            `harness.run`).
        proxies: Believe what this proxy says about its clients (X-Forwarded-For); one or several, or be
            a network.
        access_log: Write a line on stderr for every request.
    """

def set_token_quota(
    name: str,
    per_day: int,
    *,
    tokens: str | Path,
) -> None:
    """Change how many submissions somebody may make on a day, also for a server that is running.

    >>> harness.set_token_quota("ann", 10, tokens="tokens.db")

    Args:
        name: Who has the token.
        per_day: How many; 0 for what the server allows everyone.
        tokens: The file of tokens that `harness.serve` reads.
    """

def show(
    transcript: Given,
    *,
    outcome: Literal['TP', 'TN', 'FP', 'FN', 'ER'] | Sequence[Literal['TP', 'TN', 'FP', 'FN', 'ER']] | None = (),
    where: str | Sequence[str] | None = (),
    sort: str | Sequence[str] | None = (),
    limit: int | None = None,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
) -> CasesResult:
    """The cases of a transcript that are asked for.

    >>> print(harness.show("wisard", outcome="FP", where="truth=4", sort="-score"))

    Args:
        transcript: A name, path or URL, or what `read`, `load` or `run` returned.
        outcome: Only cases with this outcome, ER for errors; one or several.
        where (COLUMN=VALUE): Only cases for which this holds (also !=, <, <=, >, >=); of several, all
            must hold.
        sort: Sort by a column, numbers as numbers, -COLUMN in descending order; one or several.
        limit: Only the first N of them.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """

def status(
    run: str | Path | None = None,
    *,
    every: float | str = 1.0,
) -> StatusResult:
    """How far a run is, finished or not.

    >>> harness.status("transcripts/hdigits/mine.jsonl")

    A run that is under way is looked at twice, `every` seconds apart, to see how fast it is now.

    Args:
        run: The name of an algorithm, or the file of its transcript; by default the newest one here.
        every: How long to look at a run that is under way, to see how fast it is, and how often a run
            is watched.
    """

def submit(
    transcripts: Given | Iterable[Given | Sequence[Given]],
    *,
    to: str,
    name: str = '',
    token_file: str | Path | None = None,
    dry_run: bool = False,
    http_timeout: float | str = 600.0,
    http_limit: int | str = 4294967296,
    offline: bool = False,
    token: str | None = None,
) -> SubmitResult:
    """Hand transcripts in at a site that is served, with a token from its owner.

    >>> harness.submit("mine.jsonl", to="http://localhost:8000", token_file="token.txt")

    What the server will check is checked here first, with the same code, and a mistake in one of them means that none
    is sent. The result has what the server said of each, `.submitted`. If it refuses one, that is a HateError; a
    `PartlyRefused` has what it said of the others, `.result`.

    Args:
        transcripts: Names, paths, or what `run`, `read` and `fuse` returned; one or several.
        token: Your token itself, instead of a file or the environment.
        to: The site, as `harness.serve` prints its address.
        name: Submit under this name instead of the file's.
        token_file: Your token is in FILE; otherwise in HATE_TOKEN.
        dry_run: Check what the server will check; send nothing.
        http_timeout: Give up on a download that takes longer.
        http_limit: Refuse a download that is larger, or unpacks to more: 500M, 2G.
        offline: Do not use the network: only what is here or in the cache.
    """

def sweep(
    test: AnyTest,
    interface: object = None,
    *,
    sample: int | None = None,
    latin: int | None = None,
    seed: int = 0,
    output: str | Path | None = None,
    force: bool = False,
    plot: str | Path | None = None,
    statistic: str = 'rate',
    params: Mapping[str, object] | Sequence[str] | str,
    fresh: bool = False,
    title: str | None = None,
    label: Mapping[str, str] | Sequence[str] | str | None = (),
    width: float | str | None = None,
    xlim: tuple[float | None, float | None] | str | None = None,
    ylim: tuple[float | None, float | None] | str | None = None,
    repeat: int = 1,
    jobs: int | str = 1,
    timeout: float | str | None = None,
    limit: int | None = None,
    memory: int | str | None = None,
    no_network: bool = False,
    isolate: bool = False,
    lower: str | Sequence[str] | None = (),
    higher: str | Sequence[str] | None = (),
    gallery: str | Sequence[str] | None = (),
    probe: str | Sequence[str] | None = (),
    libraries: str | Sequence[str] | None = (),
    offline: bool = False,
    cluster: str | None = None,
    no_vary: bool = False,
    name: str | None = None,
    progress: ProgressChoice = None,
) -> SweepResult:
    """Run a test with every combination of the parameters' values, as `hate sweep` does: a row of counts each.

    >>> harness.sweep("hdigits", "wisard", params={"threshold": [0, 10, 20], "tuples": "64:128:32"})

    A decision parameter, such as threshold, never runs the program again. Runs are kept in the cache and used again,
    except those of a function of your own program, whose digest does not tell everything that its answers depend on.

    Args:
        test: What `load_test` returned, or a name, path or URL.
        interface: As for `run`.
        name: What the algorithm is to be called.
        progress: As for `run`.
        sample: Only N combinations, at random.
        latin: Only N combinations, a Latin hypercube: all values equally often.
        seed: Seed of the random combinations.
        output: Put a transcript of each algorithm setting into this folder.
        force: Overwrite existing files; with output, transcripts of other runs.
        plot (FILE.svg|png|pdf): Draw the rates over one or two parameters.
        statistic: Another measure to compute and draw: tpr, precision, f1, auc, ...
        params (NAME=VALUES): A list 0,1,2, a range 0:1:0.1, or a logarithmic range 1:1000:x10; one or
            several.
        fresh: Run everything, also what was run before.
        title: A line above the picture.
        label (NAME=TEXT): Write TEXT for a name in the picture; one or several.
        width (INCHES|1column|2column): How wide the picture is; by default a journal's column, 3.5
            inches.
        xlim (LOW,HIGH): Show this part of the x axis; one end may be left out.
        ylim (LOW,HIGH): Show this part of the y axis.
        repeat: Ask each case K times, for randomised algorithms.
        jobs (N|auto): Run N cases at a time, each in a process of its own; 'auto' for as many as there
            are cores to use.
        timeout: Give up on a case after this long; its program is killed and started again.
        limit: Only the first N cases.
        memory: Address space that each process of the algorithm may have: 500M, 2G.
        no_network: Run the algorithm without a network.
        isolate: Keep Python code out of the harness's own process: for a transcript that others are to
            believe.
        lower: Values of which less is better, such as costs; several with commas.
        higher: Values of which more is better; several with commas.
        gallery: Rank tests: only gallery images for which this holds, such as session=1; one or
            several.
        probe: Rank tests: only probes for which this holds, such as session=2; one or several.
        libraries: Another folder to find tests in; one or several.
        offline: Do not use the network: only what is here or in the cache.
        cluster (ADDRESS|local:N): Run on the workers of a Dask scheduler, tcp://host:8786, or on N
            workers that are started here.
        no_vary: Only the originals of a test that varies its inputs on purpose.
    """

def tune(
    test: AnyTest,
    interface: object = None,
    *,
    goal: str = 'rate',
    folds: int = 5,
    method: Literal['grid', 'random', 'optimise'] = 'grid',
    trials: int = 50,
    on_test: bool = False,
    top: int = 10,
    plot: str | Path | None = None,
    params: Mapping[str, object] | Sequence[str] | str,
    fresh: bool = False,
    seed: int = 0,
    title: str | None = None,
    label: Mapping[str, str] | Sequence[str] | str | None = (),
    width: float | str | None = None,
    xlim: tuple[float | None, float | None] | str | None = None,
    ylim: tuple[float | None, float | None] | str | None = None,
    force: bool = False,
    jobs: int | str = 1,
    timeout: float | str | None = None,
    limit: int | None = None,
    memory: int | str | None = None,
    no_network: bool = False,
    isolate: bool = False,
    lower: str | Sequence[str] | None = (),
    higher: str | Sequence[str] | None = (),
    libraries: str | Sequence[str] | None = (),
    offline: bool = False,
    cluster: str | None = None,
    no_vary: bool = False,
    name: str | None = None,
    progress: ProgressChoice = None,
) -> TuneResult:
    """Find the best values of parameters, as `hate tune` does: on folds of the training part, not on the test cases.

    >>> harness.tune("hdigits", "wisard", params={"tuples": [64, 128], "bits": "6:10:2"}, goal="f1")

    Args:
        test: What `load_test` returned, or a name, path or URL.
        interface: As for `run`.
        name: What the algorithm is to be called.
        progress: As for `run`.
        goal: What to tune for: rate, tpr, tnr, fpr, fnr, precision, npv, balanced, hter, informedness,
            f1, mcc, kappa, auc, eer, average_precision, cllr, min_cllr, brier, ece, seconds, memory,
            mae, rmse, iou, dice, pixel_tpr, pixel_fpr, pixel_precision, pixel_f1, miou, ap, ap50, ap75,
            ap_small, ap_medium, ap_large, object_recall, object_precision, object_f1, froc, fppi,
            missed, spurious, or cost:fp=10,fn=1.
        folds: Learn from K - 1 parts of the training material, be tested on the other, in turn.
        method: All combinations; some at random; or where an optimiser leads (Optuna).
        trials: How many combinations to run, with random and optimise.
        on_test: Tune on the test's own cases; results on them are then no longer evidence.
        top: Show the best N.
        plot (FILE.svg|png|pdf): Draw what was tried over one or two parameters.
        params (NAME=VALUES): A list 0,1,2, a range 0:1:0.1, or a logarithmic range 1:1000:x10; one or
            several.
        fresh: Run everything, also what was run before.
        seed: Seed of the random numbers, where any are drawn.
        title: A line above the picture.
        label (NAME=TEXT): Write TEXT for a name in the picture; one or several.
        width (INCHES|1column|2column): How wide the picture is; by default a journal's column, 3.5
            inches.
        xlim (LOW,HIGH): Show this part of the x axis; one end may be left out.
        ylim (LOW,HIGH): Show this part of the y axis.
        force: Overwrite existing files.
        jobs (N|auto): Run N cases at a time, each in a process of its own; 'auto' for as many as there
            are cores to use.
        timeout: Give up on a case after this long; its program is killed and started again.
        limit: Only the first N cases.
        memory: Address space that each process of the algorithm may have: 500M, 2G.
        no_network: Run the algorithm without a network.
        isolate: Keep Python code out of the harness's own process: for a transcript that others are to
            believe.
        lower: Values of which less is better, such as costs; several with commas.
        higher: Values of which more is better; several with commas.
        libraries: Another folder to find tests in; one or several.
        offline: Do not use the network: only what is here or in the cache.
        cluster (ADDRESS|local:N): Run on the workers of a Dask scheduler, tcp://host:8786, or on N
            workers that are started here.
        no_vary: Only the originals of a test that varies its inputs on purpose.
    """

def verify_cache(
) -> CacheVerifyResult:
    """Check everything in the cache that has a known SHA-256, and remove what is damaged.

    >>> harness.verify_cache().damaged

    It is downloaded again when it is needed. The result has the number of entries that were checked, `.checked`.
    """
