"""Tasks: one file each says all that the harness must know about one; nothing else compares their names."""

from collections.abc import Iterator, Mapping

from harness.params import Param
from harness.plugins import Plugin, PluginGroup
from harness.tasks.label import LABEL
from harness.tasks.rank import RANK
from harness.tasks.score import SCORE
from harness.tasks.task import (
    Accepts,
    AnswerError,
    CurveRule,
    DecisionLimits,
    ExampleScript,
    RecordColumns,
    RecordedAnswer,
    Task,
    TaskRules,
    answered,
)
from harness.tasks.value import VALUE

__all__ = [
    "PLUGINS",
    "TASKS",
    "Accepts",
    "AnswerError",
    "CurveRule",
    "DecisionLimits",
    "ExampleScript",
    "RecordColumns",
    "RecordedAnswer",
    "Task",
    "TaskRules",
    "answered",
    "find_task",
    "plugin_of",
    "task_names",
]

TASKS: Mapping[str, Task] = {task.name: task for task in (LABEL, SCORE, RANK, VALUE)}


def find_task(name: str) -> Task | None:
    """The task of that name, built in or of a plug-in; None where there is none."""
    return TASKS[name] if name in TASKS else PLUGINS.find(name)


def task_names() -> list[str]:
    """All tasks, those of plug-ins last."""
    return [*TASKS, *PLUGINS.names()]


def plugin_of(task: Task) -> Plugin | None:
    """Where a task came from; None where it is built in."""
    return PLUGINS.plugin(task.name)


def _mistakes(task: Task) -> Iterator[str]:
    """What keeps a task of a plug-in from being used; the abstract methods it has, or it could not have been made."""
    if not isinstance(getattr(task, "summary", None), str):
        yield "summary is missing"
    decisions = getattr(task, "decisions", None)
    if not isinstance(decisions, Mapping) or not decisions:
        yield "decisions is missing: a mapping of names to Param, at least one"
        return
    for name, param in decisions.items():
        if not isinstance(param, Param) or param.name != name or not param.decision:
            yield f"decisions: {name!r} is not a Param of that name with decision=True"
    if unknown := sorted(set(task.optional) - set(decisions)):
        yield f"optional: {unknown[0]!r} is not among the decisions"


PLUGINS = PluginGroup("hate.tasks", Task, _mistakes, TASKS.__contains__)  # type: ignore[type-abstract]
