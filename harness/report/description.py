"""What a test is about and what a newcomer needs to take part, as data and as a page."""

from typing import Any

from harness.options.entries import SECTIONS
from harness.report.text import safe_lines, wrapped_lines
from harness.script.cases import CaseSet, training
from harness.script.design import column_names
from harness.script.expansion import Expansion


def test_facts(cases: CaseSet) -> dict[str, Any]:
    """What is known about a test, as in the JSON output."""
    script, test = cases.script, cases.script.file.test
    trained, expansion = script.file.train, script.expansion
    return {
        "name": script.name,
        "version": script.version,
        "synopsis": test.synopsis,
        "description": test.description,
        "task": script.task.name,
        "summary": script.task.summary,
        "measures": list(script.task.measures),
        "authors": test.authors,
        "license": test.license,
        "baseline": test.baseline,
        "errors": test.errors,
        "digest": script.digest,
        "path": str(script.path),
        "data": {name: str(path.absolute()) for name, path in cases.data_paths.items() if name in script.file.data},
        "train": None if trained is None else str((script.folder / trained.table).absolute()),
        "train_cases": sum(1 for _ in training(script, cases.data_paths)),
        "blind": test.blind,
        "cases": {
            "total": len(cases),
            # Which claims are true, only the site of a blind test knows.
            "positive": None if script.is_blind else cases.positives,
            "negative": None if script.is_blind else len(cases) - cases.positives,
        },
        **{name: {} for name in SECTIONS.here()},
        **({} if expansion is None else {expansion.name: expansion.facts()}),
        "originals": len(cases.originals()),
        "gallery": None
        if cases.gallery is None
        else {"images": len(cases.gallery), "identities": len(cases.gallery.names)},
        "params": {
            name: {"type": p.type, "default": p.default, "decision": p.decision, "help": p.help}
            for name, p in script.params.items()
        },
        "design": {
            "stratum": script.file.design.stratum,
            "strata": cases.strata,
            "psu": script.file.design.psu,
            "cofactors": script.file.design.cofactors,
            "weights": script.file.design.weights,
            "target": _target(cases),
        },
    }


def _target(cases: CaseSet) -> str:
    """What an interval for this test is about."""
    design = cases.script.file.design
    parts = []
    if design.stratum is not None:
        parts.append(f"these strata ({' x '.join(column_names(design.stratum))})")
    parts.append("new cases" if design.psu is None else f"new PSUs ({' x '.join(column_names(design.psu))})")
    return ", ".join(parts)


def facts_page(facts: dict[str, Any], expansion: Expansion | None) -> str:
    """The facts as a page in Markdown."""
    return f"{description_page(facts)}\n{fact_lists(facts, expansion)}"


def description_page(facts: dict[str, Any]) -> str:
    """What the author says about the test, in Markdown."""
    title = f"# {facts['name']} {facts['version']}"
    return safe_lines("\n".join([title, "", facts["synopsis"], "", facts["description"].strip(), ""]))


def facts_text(facts: dict[str, Any], expansion: Expansion | None, columns: int) -> str:
    """The lists for a terminal: wrapped between words, so that paths stay whole."""
    lines = []
    for line in fact_lists(facts, expansion).replace("`", "").splitlines():
        if line.startswith("- "):
            first, *rest = wrapped_lines(line[2:], columns - 3)
            lines += [f" • {first}", *(f"   {more}" for more in rest)]
        else:
            lines += wrapped_lines(line.removeprefix("## "), columns)
    return "\n".join(lines) + "\n"


def fact_lists(facts: dict[str, Any], expansion: Expansion | None) -> str:
    """Data, parameters and design, in Markdown."""
    cases, design = facts["cases"], facts["design"]
    claims = "blind: the truth is with the site, which judges what `hate submit` hands in"
    if cases["positive"] is not None:
        claims = f"{cases['positive']:,} positive, {cases['negative']:,} negative"
    lines = ["## Facts", ""]
    lines += _items(
        {
            "task": f"{facts['task']}: {facts['summary']}",
            "cases": f"{cases['total']:,} ({claims})",
            "authors": ", ".join(facts["authors"]),
            "license": facts["license"],
            "baseline": facts["baseline"] or "",
            "script": facts["path"],
            "digest": facts["digest"],
            "other measures": ", ".join(facts["measures"]),
        }
    )
    lines += [f"- data `{name}`: {path}" for name, path in facts["data"].items()]
    if facts["train"] is not None:
        lines.append(f"- training material: {facts['train_cases']:,} cases in {facts['train']}")
    if facts["gallery"] is not None:
        lines.append("- gallery: {images:,} images of {identities:,} identities".format(**facts["gallery"]))
    if expansion is not None:
        lines += ["", *expansion.page(facts["originals"])]
    lines += ["", "## Parameters", ""]
    lines += [
        f"- `{name}` ({p['type']}{', a decision' if p['decision'] else ''}, {p['default']} by default): {p['help']}"
        for name, p in facts["params"].items()
    ]
    lines += ["", "## Design", ""]
    strata = f" ({design['strata']} strata)" if design["strata"] else ""
    named = {key: ", ".join(column_names(design[key] or [])) for key in ("stratum", "psu", "cofactors")}
    named["stratum"] += strata if named["stratum"] else ""
    lines += _items(named | {"results are for": design["target"]})
    return safe_lines("\n".join(lines)) + "\n"


def _items(facts: dict[str, str]) -> list[str]:
    return [f"- {name}: {value}" for name, value in facts.items() if value]
