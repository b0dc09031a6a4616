"""Throws hostile repetitions at every regular expression of the package: a program that says which one it tries.

Python's engine can take time that grows with the square, the cube or a power of two of a text's length. What makes it
do so is a part that repeats, many times, before something that fits nowhere: such texts are made from the expression.
"""

import ast
import copy
import importlib
import re
import resource
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from time import process_time
from typing import Any

import harness

PACKAGE = Path(harness.__file__).parent
SEARCHING = {"search", "sub", "subn", "split", "findall", "finditer"}
CALLS = SEARCHING | {"match", "fullmatch"}
# The first finds what doubles with each character; where the second takes long, the third finds what grows with the
# square. A text that is long without reason costs nothing but the time of a text that is linear.
LENGTHS = (40, 4_000, 400_000)
SUSPICIOUS = 0.002
# Fits hardly any class of an expression.
STRANGE = "\x01"
CANDIDATES = " \n\t0.,-+a_[]{}()<>=\"'`#/\\:*%@"


@dataclass(frozen=True)
class Expression:
    """A regular expression, where it stands, and how it is used."""

    file: str
    line: int
    pattern: "re.Pattern[Any]"
    calls: frozenset[str]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.pattern.pattern!r}"


def expressions() -> tuple[list[Expression], list[str]]:
    """All expressions, and the places of those that are made from what others say."""
    known: list[Expression] = []
    unknown: list[str] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (method := _method_of_re(node)):
                made = _expression(path, tree, node, method)
                if made is None:
                    unknown.append(f"{path.relative_to(PACKAGE)}: {ast.unparse(node.args[0])}")
                else:
                    known.append(made)
    return known, unknown


def _method_of_re(node: ast.Call) -> str | None:
    function = node.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re":
        return function.attr if function.attr in CALLS | {"compile"} else None
    return None


def _expression(path: Path, tree: ast.Module, node: ast.Call, method: str) -> Expression | None:
    names = vars(importlib.import_module(".".join(("harness", *path.relative_to(PACKAGE).with_suffix("").parts))))
    flags = [word.value for word in node.keywords if word.arg == "flags"]
    flags += node.args[1:2] if method == "compile" else node.args[-1:] if _has_flags(node, method) else []
    try:
        text = eval(ast.unparse(_Named().visit(copy.deepcopy(node.args[0]))), dict(names))
        flag = eval(ast.unparse(flags[0]), dict(names)) if flags else 0
    except NameError:  # it has a local variable
        return None
    calls = frozenset({method}) if method != "compile" else _calls_of(_target(tree, node))
    return Expression(str(path.relative_to(PACKAGE)), node.lineno, re.compile(text, flag), calls)


class _Named(ast.NodeTransformer):
    """Puts a name for what an expression takes literally: re.escape of a variable."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Of a call."""
        return ast.Constant("name") if ast.unparse(node.func) == "re.escape" else self.generic_visit(node)


def _has_flags(node: ast.Call, method: str) -> bool:
    return len(node.args) > (3 if method.startswith("sub") else 2)


def _target(tree: ast.Module, node: ast.Call) -> str | None:
    """The name that an expression is given."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Assign) and statement.value is node and isinstance(statement.targets[0], ast.Name):
            return statement.targets[0].id
    return None


def _calls_of(name: str | None) -> frozenset[str]:
    """What is done with an expression of this name; everything, if that cannot be read."""
    used = {method for other, method in _uses() if other == name}
    return frozenset(used or CALLS)


@cache
def _uses() -> frozenset[tuple[str, str]]:
    """Names, and the methods of expressions that are called on them, anywhere."""
    return frozenset(
        (node.value.id, node.attr)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in CALLS
    )


def hostile_parts(pattern: "re.Pattern[Any]") -> Iterator[tuple[str, str, str]]:
    """Texts that begin as the expression wants them, repeat what it repeats, and end as it does not."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    before, bodies, letters = {""}, set[str](), set[str]()
    _survey(tree, "", before, bodies, letters)
    pumps = [one for one in sorted(bodies | letters | before | set(" 0a")) if one]
    return product(sorted(before), pumps, ("", STRANGE))


def _survey(tree: Any, start: str, before: set[str], bodies: set[str], letters: set[str]) -> str:
    """Note what stands before each repetition, what is repeated, and each letter; give a text that fits."""
    text = start
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            low, high, body = value
            before.add(text)
            once = _survey(body, "", set(), bodies, letters)
            bodies.add(once)
            _survey(body, text, before, bodies, letters)
            text += once * (low or (high > 0))
            before.add(text)
        elif code is codes.SUBPATTERN:
            text = _survey(value[-1], text, before, bodies, letters)
        elif code is codes.ATOMIC_GROUP:
            text = _survey(value, text, before, bodies, letters)
        elif code is codes.BRANCH:
            texts = [_survey(part, text, before, bodies, letters) for part in value[1]]
            text = max(texts, key=len)
        elif code in (codes.ASSERT, codes.ASSERT_NOT, codes.AT, codes.GROUPREF, codes.GROUPREF_EXISTS):
            continue
        else:
            fitting = _letters(code, value)
            letters.update(fitting)
            text += fitting[0] if fitting else ""
    return text


def _letters(code: Any, value: Any) -> list[str]:
    """Characters that a part of one character takes: its own, else some that it does not exclude."""
    if code is codes.LITERAL:
        return [chr(value)]
    if code is codes.NOT_LITERAL:
        return [one for one in CANDIDATES if ord(one) != value][:3]
    if code is codes.ANY:
        return [" ", "a", "0"]
    single = re.compile(_written(value), re.DOTALL)
    return [one for one in CANDIDATES if single.fullmatch(one)][:3] or [STRANGE]


_CATEGORIES = {
    codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D", codes.CATEGORY_WORD: r"\w", codes.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _written(parts: Iterable[Any]) -> str:
    """A set of characters as an expression again."""
    text = ""
    for code, value in parts:
        if code is codes.NEGATE:
            text += "^"
        elif code is codes.LITERAL:
            text += re.escape(chr(value))
        elif code is codes.RANGE:
            text += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        else:
            text += _CATEGORIES[value]
    return f"[{text}]"


def main() -> None:
    """Try them all, or those that are given after the seconds that may pass; the last line names what does not end."""
    seconds, *given = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
    all_calls = frozenset(CALLS)
    for one in [Expression("", 0, re.compile(text), all_calls) for text in given] or expressions()[0]:
        for call in sorted(one.calls):
            print(f"{one} {call}", flush=True)
            for start, pump, end in hostile_parts(one.pattern):
                for length in LENGTHS:
                    text = start + pump * (length // len(pump)) + end
                    begun = process_time()
                    _use(one.pattern, call, text if isinstance(one.pattern.pattern, str) else text.encode("latin-1"))
                    if length >= LENGTHS[1] and process_time() - begun < SUSPICIOUS:
                        break


def _use(pattern: "re.Pattern[Any]", call: str, text: str | bytes) -> None:
    method = getattr(pattern, call)
    if call in ("sub", "subn"):
        method(text[:0], text)
    elif call == "finditer":
        list(method(text))
    else:
        method(text)


if __name__ == "__main__":
    main()
