"""Single cases of a run in words: one line each, or everything about one."""

import msgspec

from harness.model import Case, Reply, Trial
from harness.report.text import safe

MAX_ANSWER_LENGTH = 2000


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
    facts = {
        "case": case.id,
        "input": _text(reply.question.input),
        "expect": case.expect,
        "positive": "yes" if case.positive else "no",
        "truth": case.real_class,
        **{f"column {name}": _text(value) for name, value in case.columns.items()},
        "repeat": str(reply.question.repeat),
        "answer": _shortened(_text(reply.raw)),
        "taken as": "" if trial.error else _text(trial.actual if trial.actual is not msgspec.UNSET else "a refusal"),
        "score": _text(trial.score) if trial.score is not msgspec.UNSET else "",
        "error": f"{trial.error}: {trial.message}" if trial.error else "",
        "outcome": str(trial.outcome),
        "seconds": f"{reply.seconds:.6f}",
        "memory": "" if reply.memory is None else f"{reply.memory / 2**20:.1f} MiB",
    }
    return [safe(f"{name:>12}: {value}") for name, value in facts.items() if value]


def _shortened(text: str) -> str:
    """An image can have millions of characters."""
    return text if len(text) <= MAX_ANSWER_LENGTH else f"{text[:100]}... ({len(text):,} characters)"


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
