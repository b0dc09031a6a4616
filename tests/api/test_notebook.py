"""The example notebook: executed from top to bottom, as a newcomer would, and stored so that changes to it are seen."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.workshop import WAIT, Workshop

EXAMPLE = Path(__file__).parents[2] / "examples" / "compare.ipynb"


def cells(book: Any) -> dict[str, Any]:
    return {cell.id: cell for cell in book.cells if cell.cell_type == "code"}


def text(cell: Any) -> str:
    """What a cell printed."""
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


def shown(cell: Any, kind: str) -> str:
    """What a notebook shows of the last line of a cell."""
    [found] = [output.data[kind] for output in cell.outputs if output.output_type == "execute_result"]
    assert isinstance(found, str)
    return found


def test_the_notebook_is_stored_without_outputs() -> None:
    book = nbformat.read(EXAMPLE, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(book)
    assert book.nbformat == 4
    assert not [cell.id for cell in cells(book).values() if cell.outputs or cell.execution_count]
    assert EXAMPLE.read_text(encoding="utf-8") == nbformat.writes(book) + "\n"  # type: ignore[no-untyped-call]


@pytest.mark.slow
def test_the_notebook_can_be_followed(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    book = nbformat.read(EXAMPLE, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(book, timeout=WAIT, resources={"metadata": {"path": str(shop.folder)}}).execute()
    ran = cells(book)
    assert shown(ran["load"], "text/plain") == "<hdigits 1.0.0, a label test of 1,434 cases (717 positive)>"
    assert text(ran["picture"]).splitlines()[3] == " .* # . "
    for name in ("function", "class", "rate", "cases", "compare", "roc-summary", "sweep", "frame"):
        assert "<table" in shown(ran[name], "text/html"), name
    # As scikit-learn's NearestCentroid, trained on the same pictures.
    end = shop.lines("nearest.jsonl")[-1]
    assert [end[name] for name in ("TP", "TN", "FP", "FN", "ER")] == [633, 633, 84, 84, 0]
    assert text(ran["verdicts"]).startswith("wisard is better than nearest by 0.8 to 5.0 points")
    # The picture, once.
    assert [set(output.data) for output in ran["roc"].outputs] == [{"text/plain", "image/png"}]
    rows = [line.split()[:3] for line in text(ran["text"]).splitlines()]
    assert rows[1:3] == [["0", "1434", "633"], ["2", "1434", "596"]]
    assert sorted(path.name for path in shop.folder.iterdir()) == ["ink.jsonl", "nearest.jsonl"]
