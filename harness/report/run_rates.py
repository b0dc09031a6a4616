"""What a run says beside its counts, in sentences: repeated answers, other training data, identification."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # A run that needs one of the sentences does not import numpy for the others.
    from harness.analysis.identification import Identification
    from harness.stats.repeats import Repeats
    from harness.stats.training_variance import TrainingVariance


def repeats_sentence(found: Repeats, psu: str = "units") -> str:
    """The result in words; `psu` is what the units are."""
    new = "new cases" if found.units == found.cases else f"new {psu}"
    return (
        f"{found.runs} answers per case: rate {found.rate:.4f}, standard error {found.se:.4f} for {new}, "
        f"{found.se_new_runs:.4f} for {new} and new runs; {found.share_runs:.0%} of the variance of an answer "
        f"comes from the algorithm's randomness, {found.share_cases:.0%} from the case; all answers agree on "
        f"{found.unanimous:.0%} of the cases"
    )


def training_sentences(found: TrainingVariance, psu: str = "units") -> list[str]:
    """The result in words; `psu` is what the units are."""
    new = "new cases" if found.units == found.cases else f"new {psu}"
    parts = {"training": found.training, "case": found.case}
    parts |= {"case by training" if found.runs > 1 else "case by training and randomness": found.interaction}
    if found.runs > 1:
        parts["run"] = found.run
    total = sum(max(part, 0.0) for part in parts.values())
    shares = ", ".join(f"{name} {max(part, 0.0) / total:.1%}" for name, part in parts.items()) if total else "none"
    return [
        f"{found.folds} trainings, each leaving out a different fold: rate {found.rate:.4f}, from "
        f"{min(found.rates):.4f} to {max(found.rates):.4f}; variance of an answer: {shares}",
        f"standard error {found.se_cases:.4f} for {new}, {found.se_training:.4f} for another training sample "
        f"({found.df_training:.0f} degrees of freedom), {found.se:.4f} for both",
    ]


def identification_sentences(found: Identification) -> list[str]:
    """An identification in words."""
    at = f"rank {found.rank}" + ("" if found.threshold is None else f", threshold {found.threshold:g}")
    parts = [
        f"{name} {rate:.4f} ({count:,} of {of:,} probes {whom})"
        for name, rate, count, of, whom in (
            ("FNIR", found.fnir, found.missed, found.enrolled, "of people in the gallery were not found"),
            ("FPIR", found.fpir, found.mistaken, found.strangers, "of people not enrolled were accepted"),
        )
        if rate is not None
    ]
    lines = [f"at {at}: {'; '.join(parts)}"]
    failures = f"failures to acquire (errors and refusals): {found.failures_to_acquire:,}"
    if found.failures_to_enrol:
        failures += f"; failures to enrol (the right person was not scored): {found.failures_to_enrol:,}"
    if found.false_matches is not None:
        failures += f"; false non-matches at the threshold: {found.false_non_matches:,}, false matches: "
        failures += f"{found.false_matches:,}"
    lines.append(failures)
    lines.append("rank: 1 + the number of wrong identities that score at least as well as the right one")
    return lines
