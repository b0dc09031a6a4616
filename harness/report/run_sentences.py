"""What a run reports besides its counts, in sentences: cases, repeated answers, training data, identification."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

import msgspec

from harness.model import Case, Reply, Trial
from harness.report.numbers import share_text
from harness.report.text import safe

if TYPE_CHECKING:
    # Not at run time: printing one of the sentences must not import numpy for the others.
    from harness.analysis.identification import Identification
    from harness.stats.repeats import Repeats, TrainingVariance

MAX_ANSWER_LENGTH = 2000


def repeats_sentence(result: Repeats, psu: str = "units", *, weighted: bool = False) -> str:
    """The result in words; `psu` is what the units are, `weighted` whether the test has weights, which are left out."""
    new = "new cases" if result.units == result.cases else f"new {psu}"
    shares = (
        f"{share_text(result.share_runs, 0)} of the variance of an answer comes from the algorithm's randomness, "
        f"{share_text(result.share_cases, 0)} from the case"
    )
    if isnan(result.share_runs):
        shares = "all answers have the same outcome, so there is no variance to divide"
    return (
        f"{result.runs} answers per case: {_rate_name(weighted)} {result.rate:.4f}, standard error {result.se:.4f} "
        f"for {new}, {result.se_new_runs:.4f} for {new} and new runs; {shares}; all answers agree on "
        f"{share_text(result.unanimous, 0)} of the cases"
    )


def _rate_name(weighted: bool) -> str:
    return "unweighted rate" if weighted else "rate"


def training_sentences(result: TrainingVariance, psu: str = "units", *, weighted: bool = False) -> list[str]:
    """The result in words, as above."""
    new = "new cases" if result.units == result.cases else f"new {psu}"
    parts = {"training": result.training, "case": result.case}
    parts |= {"case by training" if result.runs > 1 else "case by training and randomness": result.interaction}
    if result.runs > 1:
        parts["run"] = result.run
    total = sum(max(part, 0.0) for part in parts.values())
    known = {name: share_text(max(part, 0.0) / total) for name, part in parts.items()} if total else {}
    shares = ", ".join(f"{name} {share}" for name, share in known.items()) or "none"
    return [
        f"{result.folds} trainings, each leaving out a different fold: {_rate_name(weighted)} {result.rate:.4f}, from "
        f"{min(result.rates):.4f} to {max(result.rates):.4f}; variance of an answer: {shares}",
        f"standard error {result.se_cases:.4f} for {new}, {result.se_training:.4f} for another training sample "
        f"({result.df_training:.0f} degrees of freedom), {result.se:.4f} for both",
    ]


def identification_sentences(result: Identification) -> list[str]:
    at = f"rank {result.rank}" + ("" if result.threshold is None else f", threshold {result.threshold:g}")
    parts = [
        f"{name} {rate:.4f} ({round(rate * of):,} of {of:,} probes of people {what})"
        for name, rate, of, what in (
            ("FNIR", result.fnir, result.enrolled, "in the gallery were not found"),
            ("FPIR", result.fpir, result.not_enrolled, "not enrolled were accepted"),
        )
        if rate is not None
    ]
    lines = [f"at {at}: {'; '.join(parts)}"]
    failures = f"failures to acquire (errors and refusals): {result.failures_to_acquire:,}"
    if result.failures_to_enrol:
        failures += f"; failures to enrol (the right person was not scored): {result.failures_to_enrol:,}"
    if result.false_matches is not None:
        failures += f"; false non-matches at the threshold: {result.false_non_matches:,}, false matches: "
        failures += f"{result.false_matches:,}"
    lines.append(failures)
    lines.append("rank: 1 + the number of wrong identities that score at least as well as the right one")
    return lines


def trial_line(trial: Trial) -> str:
    """A case on one line: what was expected, and what the program answered."""
    claim = trial.expect if isinstance(trial.expect, str) else "anything"
    expected = f"expected {claim}" if trial.outcome.positive else f"should refuse {claim}"
    if trial.error:
        answer = f"{trial.error}: {trial.message}"
    else:
        answer = f"answered {trial.actual}" if isinstance(trial.actual, (str, int, float)) else "refused"
    return safe(f"{trial.id}: {trial.outcome}: {expected}, {answer}")


def trial_details(case: Case, reply: Reply, trial: Trial) -> list[str]:
    """Everything about a case: as its author wrote it, what the program answered, and the outcome."""
    answer = _text(reply.raw)
    if len(answer) > MAX_ANSWER_LENGTH:
        # An image can have millions of characters.
        answer = f"{answer[:100]}... ({len(answer):,} characters)"
    facts = {
        "case": case.id,
        "input": _text(reply.question.input),
        "expect": case.expect,
        "positive": "yes" if case.positive else "no",
        "truth": case.real_class,
        **{f"column {name}": _text(value) for name, value in case.columns.items()},
        "repeat": str(reply.question.repeat),
        "answer": answer,
        "taken as": "" if trial.error else _text(trial.actual if trial.actual is not msgspec.UNSET else "a refusal"),
        "score": _text(trial.score) if trial.score is not msgspec.UNSET else "",
        "error": f"{trial.error}: {trial.message}" if trial.error else "",
        "outcome": str(trial.outcome),
        "seconds": f"{reply.seconds:.6f}",
        "memory": "" if reply.memory is None else f"{reply.memory / 2**20:.1f} MiB",
    }
    return [safe(f"{name:>12}: {value}") for name, value in facts.items() if value]


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
