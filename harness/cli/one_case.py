"""`hate run --case ID --verbose`: everything about one case."""

import difflib
from collections.abc import Sequence

import msgspec

from harness.cli.test import describe_trial
from harness.engine.run import Asked, Plan, ask
from harness.errors import UsageError
from harness.report.text import safe

MOST_COMPARED = 10_000


def show_cases(plan: Plan, ids: Sequence[str], *, verbose: bool) -> int:
    """Run and show the named cases; exit status 1 when one failed."""
    wanted = set(ids)
    known = {case.id for case in plan.cases if case.id in wanted}
    for missing in sorted(wanted - known):
        raise UsageError(f"--case {missing}: no such case; {_hint(missing, plan)}")
    status = 0
    for asked in ask(plan, wanted):
        print("\n".join(_everything(asked)) if verbose else describe_trial(asked.trial))
        status = status if asked.trial.outcome.success else 1
    return status


def _hint(missing: str, plan: Plan) -> str:
    """The nearest id; where none is near, the first and the last, since there can be a million."""
    ids = [case.id for case in plan.cases]
    near = difflib.get_close_matches(missing, ids[:MOST_COMPARED], n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else f"there are {len(ids):,}, from '{ids[0]}' to '{ids[-1]}'"


def _everything(asked: Asked) -> list[str]:
    case, reply, trial = asked.case, asked.reply, asked.trial
    facts = {
        "case": case.id,
        "input": _text(reply.question.input),
        "expect": case.expect,
        "positive": "yes" if case.positive else "no",
        "truth": case.real_class,
        **{f"column {name}": _text(value) for name, value in case.columns.items()},
        "repeat": str(reply.question.repeat),
        "answer": _text(reply.raw),
        "taken as": "" if trial.error else _text(trial.actual if trial.actual is not msgspec.UNSET else "a refusal"),
        "score": _text(trial.score) if trial.score is not msgspec.UNSET else "",
        "error": f"{trial.error}: {trial.message}" if trial.error else "",
        "outcome": str(trial.outcome),
        "seconds": f"{reply.seconds:.6f}",
        "memory": "" if reply.memory is None else f"{reply.memory / 2**20:.1f} MiB",
    }
    return [f"{name:>12}: {safe(value)}" for name, value in facts.items() if value]


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
