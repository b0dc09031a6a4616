"""Tasks: one file each says what an answer looks like, how it is scored and which decision parameters it has."""

from collections.abc import Mapping

from harness.tasks.label import LABEL
from harness.tasks.rank import RANK
from harness.tasks.score import SCORE
from harness.tasks.task import Task
from harness.tasks.value import VALUE

TASKS: Mapping[str, Task] = {task.name: task for task in (LABEL, SCORE, RANK, VALUE)}
