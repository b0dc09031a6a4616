"""The functions of the laboratory's commands on matrices: what they return is what the commands print."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.api.result import Result
from harness.api.wording import PythonWords
from harness.errors import UsageError
from harness.lab.experiments import galleries, methods, permute
from tests.matrices.virtual import people_matrix, write_matrix
from tests.workshop import Workshop

CALLS: dict[str, tuple[Callable[..., Result], dict[str, Any]]] = {
    "permute": (permute, {"differ": "day", "experiments": 50, "seed": 3}),
    "galleries": (galleries, {"by": "image", "mix": True, "permutations": 19}),
    "methods": (methods, {"gallery": "image=0", "probe": "image!=0", "stratum": "subject", "ranks": 5}),
}


def words_of(settings: dict[str, Any]) -> list[str]:
    words = [(f"--{name}", *(() if value is True else (str(value),))) for name, value in settings.items()]
    return [word for one in words for word in one]


@pytest.mark.parametrize("name", CALLS)
def test_a_function_returns_what_its_command_prints(shop: Workshop, name: str) -> None:
    for number, noise in enumerate((0.6, 1.2)):
        write_matrix(people_matrix(12, 4, noise=noise, seed=4, name="ab"[number]), shop.folder)
    call, settings = CALLS[name]
    found = call(["a.npy", "b.npy"], **settings)
    assert found.to_dict() == shop.call(name, "a.npy", "b.npy", *words_of(settings), "--format", "json").json
    assert str(found) == PythonWords()(shop.call(name, "a.npy", "b.npy", *words_of(settings)).out)


@pytest.mark.parametrize("name", CALLS)
def test_settings_are_those_of_the_command(name: str) -> None:
    call, settings = CALLS[name]
    with pytest.raises(TypeError, match="there is no option 'sead'"):
        call(["a.npy"], sead=1)
    with pytest.raises(UsageError, match="seed=-1"):
        call(["a.npy"], **settings | {"seed": -1})


def test_one_matrix_may_stand_by_itself(shop: Workshop) -> None:
    write_matrix(people_matrix(8, 3), shop.folder)
    assert galleries("alg.npy", by="image").to_dict() == galleries(["alg.npy"], by="image").to_dict()
    assert permute("alg.npy", ranks=3).to_dict() == permute(["alg.npy"], ranks=3).to_dict()
