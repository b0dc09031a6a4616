"""What rooms add to a command, with every task and design: the rest of the answer is that of the command without it.

A command that is refused is refused for the same reason. What is added has numbers that JSON can have.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.api.extension import Extension
from harness.options import DeclaredOption, declared_options
from harness.options.entries import EXTENSIONS
from tests.products.conftest import AllRuns
from tests.products.designs import DESIGNS, WEIGHTS_OF_STRATA
from tests.products.option_values import Word, option_set, options_of, words_of
from tests.products.subjects import SUBJECTS
from tests.workshop import Workshop

# The commands that can be extended.
COMMANDS = ("compare", "rate", "confusion", "roc", "det", "pr", "froc", "cmc")


def extended_calls() -> list[tuple[str, str]]:
    """Every extension with every command that has it."""
    return [
        (name, command) for name in EXTENSIONS.here() for command in COMMANDS if asking(name) in options_of(command)
    ]


def asking(name: str) -> DeclaredOption:
    """The option that asks for an extension."""
    return next(one for one in declared_options(EXTENSIONS.here()[name].options) if not one.spec.needs)


def products() -> list[Any]:
    """All designs, with the subjects in turn; every seventh is fast."""
    cube = [
        (name, command, [*SUBJECTS][(turn + number) % len(SUBJECTS)], design)
        for number, (name, command) in enumerate(extended_calls())
        for turn, design in enumerate(DESIGNS)
    ]
    return [pytest.param(*one, marks=[pytest.mark.slow] if place % 7 else []) for place, one in enumerate(cube)]


def asked(name: str, command: str) -> tuple[Word, list[str]]:
    """The option that asks for an extension, and what else it makes of the command, as words."""
    option = asking(name)
    word = words_of(command, option)[-1]
    kind = option_set(command)
    assert kind is not None
    given = kind.of({option.name: True if option.type is bool else word[-1]})
    prepared = EXTENSIONS.here()[name].load(Extension)().prepare(given)  # type: ignore[type-abstract]
    others = {key: value for key, value in prepared.changed().items() if key != option.name}
    return word, [text for key, value in others.items() for text in (f"--{key.replace('_', '-')}", str(value))]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "command", "subject", "design"), products())
def test_the_rest_is_as_without_it(
    shop: Workshop, all_runs: AllRuns, name: str, command: str, subject: str, design: str
) -> None:
    word, others = asked(name, command)
    sampled = DESIGNS[design]
    rows = ["stratum,weight", *(f"{stratum},{weight}" for stratum, weight in WEIGHTS_OF_STRATA.items())]
    shop.write("weights.csv", "\n".join(rows) + "\n")
    paths = all_runs.of(subject, *sampled.run).paths[:2]
    words: list[str | Path] = [command, *paths, *sampled.words, "--format", "json"]
    plain, more = shop.call(*words, *others), shop.call(*words, *word)
    assert (more.status, more.err if more.status else "") == (plain.status, plain.err if plain.status else "")
    if more.status == 0:
        found = json.loads(more.out, parse_constant=pytest.fail)
        assert found.pop(name)
        assert found == plain.json
