"""Tasks: one file per task has all that the harness needs to know about it; no other code compares their names."""

from collections.abc import Iterator, Mapping

from harness.params import Param
from harness.plugins import Plugin, PluginGroup
from harness.tasks.boxes import BOXES
from harness.tasks.label import LABEL
from harness.tasks.mask import MASK
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

TASKS: Mapping[str, Task] = {task.name: task for task in (LABEL, SCORE, RANK, VALUE, MASK, BOXES)}


def find_task(name: str) -> Task | None:
    """The task with this name, built in or from a plug-in; None if there is none."""
    return TASKS[name] if name in TASKS else PLUGINS.find(name)


def task_names() -> list[str]:
    """The names of all tasks, plug-ins last."""
    return [*TASKS, *PLUGINS.names()]


def plugin_of(task: Task) -> Plugin | None:
    """The plug-in that a task comes from; None if it is built in."""
    return PLUGINS.plugin(task.name)


def _mistakes(task: Task) -> Iterator[str]:
    """What makes a plug-in's task unusable; Python has already checked that its abstract methods are defined."""
    if not isinstance(getattr(task, "summary", None), str):
        yield "summary is missing"
    if not isinstance(task.main_measure, str):
        yield "main_measure is not the name of a measure"
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
