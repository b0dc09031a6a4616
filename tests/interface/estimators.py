"""What tests of estimators share: how rows are loaded, and toy tests to learn."""

from typing import Any

import numpy as np

from tests.workshop import Workshop

SCORES = '[params.threshold]\ntype = "float"\ndefault = 0.5\ndecision = true\n[train]\ntable = "train.csv"'


def pixels(path: str) -> Any:
    return np.fromfile(path, np.uint8)[-64:].astype(float)


def number(text: str) -> list[float]:
    return [float(text)]


def with_classes(shop: Workshop, task: str = "label") -> tuple[Any, Any]:
    """Three classes on a line, each input with a true and a false claim; returns what is taught."""
    rng = np.random.default_rng(0)
    taught = [(f"{rng.normal(1.5 * k):.3f}", f"c{k}") for k in range(3) for _ in range(40)]
    shop.write("toy/train.csv", "input,expect\n" + "".join(f"{x},{label}\n" for x, label in taught))
    rows = "id,input,expect,positive\n"
    for n, (k, x) in enumerate((k, f"{rng.normal(1.5 * k):.3f}") for k in range(3) for _ in range(40)):
        rows += f"{n}a,{x},c{k},true\n{n}b,{x},c{(k + 1) % 3},false\n"
    shop.script(task=task, sections=SCORES if task == "score" else '[train]\ntable = "train.csv"', rows=rows)
    return [number(x) for x, _ in taught], [label for _, label in taught]


def with_values(shop: Workshop) -> None:
    shop.write("toy/train.csv", "input,expect\n" + "".join(f"{n},{2 * n + 1}\n" for n in range(9)))
    rows = "id,input,expect\n1,10,21\n2,11,99\n"
    shop.script(task="value", keys="tolerance = {absolute = 0.1}", sections='[train]\ntable = "train.csv"', rows=rows)
