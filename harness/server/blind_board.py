"""The board of a blind test: answers are judged here, and a better score is shown only if it is significantly better.

The rule is that of the Ladder (A. Blum and M. Hardt, The Ladder: a reliable leaderboard for machine learning
competitions, ICML 2015): a submission is compared with the best that is shown for the same name; unless it is
significantly better, the board repeats what it showed before, so that nothing can be learned by trying. The test is the
paired one of `hate compare`, by the design of the test. The n-th comparison of a name is made at the level
0.05 / (n (n + 1)). These levels add up to 0.05, so that with 95 % probability no number of tries ever moves the board
by chance.
"""

import hashlib
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import msgspec
from filelock import FileLock

from harness.analysis.align import Run
from harness.analysis.compare import compare_runs
from harness.analysis.standing import ranking_options, standing_of
from harness.errors import DataError, HateError, TranscriptError
from harness.files.digest import file_sha256
from harness.model import Counts, Standing
from harness.server.database import BoardEntry, Database
from harness.site.audit import decision_params
from harness.site.blind import BlindAnswers, HiddenTest, find_hidden, read_blind_answers
from harness.site.catalogue import SiteTest
from harness.site.changes import NameTaken, PublishStatus, name_owner
from harness.site.header_facts import header_design, header_test
from harness.site.layout import Ref
from harness.site.local_tests import cases_here
from harness.site.publish import publish
from harness.site.publish_candidates import TranscriptCandidate
from harness.site.signing import Signer
from harness.tasks.judge import judged_trial
from harness.transcript.columns import read_columns
from harness.transcript.format import End, Header
from harness.transcript.write import TranscriptWriter

LEVEL = 0.05
SHOWN = "shown"
SUBMISSIONS = "submissions.db"


@dataclass(frozen=True)
class BlindSubmission:
    """What is handed in, by whom, under which name."""

    path: Path
    name: str
    by: str


@dataclass(frozen=True)
class BoardReply:
    """What a submitter is told."""

    status: PublishStatus | None
    text: str


def level_of(comparison: int) -> float:
    """The level of significance of a name's n-th comparison."""
    return LEVEL / (comparison * (comparison + 1))


def submissions(hidden: HiddenTest) -> Database:
    """What was handed in to a blind test; beside its truth, since what may be shown follows from all of it."""
    return Database(hidden.folder / SUBMISSIONS, "submissions")


def shown_path(private: Path, sha256: str) -> Path:
    """The judged run behind a file that is published; only the server reads it."""
    return private / SHOWN / f"{sha256}.jsonl"


@dataclass(frozen=True)
class Board:
    """The blind tests of a site."""

    root: Path
    private: Path
    signer: Signer | None = None

    def submit(
        self, test: SiteTest, submission: BlindSubmission, charge: Callable[[], None] | None = None
    ) -> BoardReply:
        """Judge answers, and show the score if it is the first or significantly better; a HateError if it is no run.

        `charge` is called before anything is judged, and not for answers that were handed in before.
        """
        hidden = find_hidden(self.private, test.name, test.version.version)
        if hidden is None:
            raise TranscriptError(
                f"{submission.path}: the truth of {test.name} is not at this server; ask the site's owner"
            )
        public = cases_here(test.script())
        if public is None:
            raise DataError(f"{test.label}: its cases cannot be read")
        hidden.check_promise(public.script)
        answers = read_blind_answers(submission.path, public)
        with FileLock(hidden.folder / "lock"):
            return self._judge(test, hidden, answers, submission, charge or (lambda: None))

    def _judge(
        self,
        test: SiteTest,
        hidden: HiddenTest,
        answers: BlindAnswers,
        submission: BlindSubmission,
        charge: Callable[[], None],
    ) -> BoardReply:
        ledger = submissions(hidden)
        earlier = [entry for entry in ledger.submissions() if entry.by == submission.by]
        best = next((entry for entry in reversed(earlier) if entry.shown), None)
        digest = _answers_sha256(answers)
        if any(entry.answers == digest for entry in earlier) and best is not None:
            return BoardReply(PublishStatus.KNOWN, f"handed in before; the board shows {_shown(best)}")
        self._check_name(test, submission, {entry.shown for entry in earlier})
        charge()
        judged = self.private / SHOWN / f".{digest}.{os.getpid()}.jsonl"
        try:
            counts = write_judged(judged, hidden, answers)
            # The first is shown as it is, and compared with nothing.
            tries = len(earlier)
            if best is not None and not is_better(judged, shown_path(self.private, best.shown), level_of(tries)):
                ledger.add_submission(BoardEntry(submission.by, submission.name, digest))
                text = f"not significantly better (try {tries}, p <= {level_of(tries):.2g} is needed)"
                return BoardReply(None, f"{text}: the board still shows {_shown(best)}")
            return self._show(hidden, answers, submission, judged, counts)
        finally:
            judged.unlink(missing_ok=True)

    def _check_name(self, test: SiteTest, submission: BlindSubmission, shown: Collection[str]) -> None:
        """Before anything is judged, so that a name cannot be used to ask for an outcome."""
        site = test.catalogue
        owner = name_owner(site, submission.name)
        entry = site.transcript(test.index, submission.name, test.version.version)
        # What is not in the list of submissions was published by a server that was killed right then.
        if owner not in (None, submission.by) or (entry is not None and entry.file.sha256 in shown):
            raise NameTaken(f"{submission.path}: the name '{submission.name}' is taken; choose another with --name")

    def _show(
        self, hidden: HiddenTest, answers: BlindAnswers, submission: BlindSubmission, judged: Path, counts: Counts
    ) -> BoardReply:
        """Publish the counts. The note of it comes last: if the server is killed before, the same can be handed in."""
        summary = submission.path.with_name("summary.jsonl")
        write_summary(summary, answers.header, counts)
        ref = Ref(file_sha256(summary), summary.stat().st_size)
        standing = standing_of(judged)
        candidate = TranscriptCandidate(
            submission.name, summary, ref, answers.header, counts, submission.by, standing=standing, judged=True
        )
        judged.replace(shown_path(self.private, ref.sha256))
        change = publish(self.root, [candidate], signer=self.signer)
        ranked = standing or Standing.by_rate(counts.rate)
        what = submission.by, submission.name, _answers_sha256(answers), ref.sha256
        entry = BoardEntry(*what, counts.successes, counts.tests, ranked.measure, ranked.value)
        submissions(hidden).add_submission(entry)
        return BoardReply(change.items[0].status, f"judged: the board shows {_shown(entry)}")


def _shown(entry: BoardEntry) -> str:
    counted = f"'{entry.name}' with {entry.successes:,} of {entry.tests:,} right, {entry.rate:.4f}"
    if entry.measure == "rate" and f"{entry.value:.4f}" == f"{entry.rate:.4f}":
        return counted
    what = "weighted rate" if entry.measure == "rate" else entry.measure
    return f"{counted}, and ranks it by its {what}, {entry.value:.4f}"


def write_judged(path: Path, hidden: HiddenTest, answers: BlindAnswers) -> Counts:
    """The transcript that the run would have left where the truth is; never published."""
    cases = hidden.cases
    params = decision_params(answers.header, cases.script.params)
    if params is None:
        raise TranscriptError(f"{path}: params: a decision parameter is missing or no number; run it again")
    header = msgspec.structs.replace(
        answers.header, test=header_test(cases), design=header_design(cases), blind=msgspec.UNSET
    )
    judge = cases.judge(params)
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = TranscriptWriter.create(path, header, force=True)
    try:
        for number, case in enumerate(cases):
            writer.append(number, judged_trial(judge, case, answers.answers[case.id]))
        writer.finish()
    finally:
        writer.close()
    return writer.counts


def write_summary(path: Path, header: Header, counts: Counts) -> None:
    """What is published: a transcript's first and last line, without a record between them."""
    first = msgspec.json.encode(header) + b"\n"
    end = End(True, counts.tests, **msgspec.structs.asdict(counts), sha256=hashlib.sha256(first).hexdigest())
    path.write_bytes(first + msgspec.json.encode(end) + b"\n")


def is_better(new: Path, best: Path, level: float) -> bool:
    """Whether a judged run is significantly better than another, one-sided, by the measure and design of the test."""
    runs = [Run(read_columns(path, name=name), name, name) for path, name in ((new, "new"), (best, "best"))]
    first = runs[0].columns
    try:
        comparison = compare_runs(runs, ranking_options(first.header, first.columns), resources=False)
    except HateError:
        return False
    (pair,) = comparison.pairs
    if pair.estimate is None:
        return pair.difference > 0 and pair.p_exact / 2 <= level
    p_value = pair.estimate.p_value
    return comparison.leader(pair) == pair.a and p_value is not None and p_value / 2 <= level


def _answers_sha256(answers: BlindAnswers) -> str:
    """The hash of what was answered and of the decision parameters, whatever else the file says."""
    digest = hashlib.sha256(msgspec.json.encode(answers.header.params))
    for name, trial in sorted(answers.answers.items()):
        answer = None if trial.actual is msgspec.UNSET else trial.actual
        digest.update(msgspec.json.encode([name, answer, trial.error or None]))
    return digest.hexdigest()
