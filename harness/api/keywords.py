"""Functions as Python programs call them: every option a keyword, and texts that name keywords instead of flags.

A function takes its options as one object, as the commands give it; `by_keyword` makes of it what `harness` shows:

    def compare(transcripts: Transcripts, *, options: CompareOptions) -> CompareResult: ...

    harness.compare("wisard", "witch", by="truth")
"""

import functools
import inspect
import re
import textwrap
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import Enum
from inspect import Parameter
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

import harness
from harness.errors import HateError
from harness.options import DeclaredOption, OfflineOptions, OptionSet, OptionSpec, declared_options
from harness.params import nearest

P = ParamSpec("P")
R = TypeVar("R")
DOCSTRING_WIDTH = 100


def by_keyword(function: Callable[..., R]) -> Callable[..., R]:
    """The function with a keyword for each of its options, all of them in its signature and its docstring."""
    signature = inspect.signature(function)
    options = signature.parameters.get("options")
    kind: type[OptionSet] | None = None if options is None else options.annotation
    own = [name for name, parameter in signature.parameters.items() if parameter.kind is Parameter.KEYWORD_ONLY]

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> R:
        with spelled_in_python(kind):
            if kind is None:
                for name in keywords:
                    if name not in signature.parameters:
                        raise TypeError(f"there is no option {name!r}; {nearest(name, own)}")
                return function(*arguments, **keywords)
            # A name that is not known goes to the options, which suggest the nearest one.
            rest = {name: keywords.pop(name) for name in list(keywords) if name in signature.parameters}
            given = kind.of(keywords)
            given.check_needs()
            with _as_allowed(given):
                return function(*arguments, **rest, options=given)

    if kind is not None:
        declared = declared_options(kind)
        parameters = [parameter for name, parameter in signature.parameters.items() if name not in own]
        parameters += map(keyword_parameter, declared)
        parameters += [signature.parameters[name] for name in own if name != "options"]
        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__doc__ = _with_keywords(inspect.getdoc(function) or "", declared)
    return call


def _as_allowed(options: OptionSet) -> AbstractContextManager[None]:
    """Within it, the network is used as the options say, as a command does from its start."""
    if not isinstance(options, OfflineOptions) or not options.offline:
        return nullcontext()
    from harness.site.config import without_network  # not for `hate --help`

    return without_network()


def keyword_parameter(declared: DeclaredOption) -> Parameter:
    """An option as a keyword of a function, with its type and default."""
    default = Parameter.empty if declared.required else declared.default
    if isinstance(default, Enum):
        default = default.value
    return Parameter(declared.name, Parameter.KEYWORD_ONLY, default=default, annotation=_annotation(declared))


def _annotation(declared: DeclaredOption) -> Any:
    """What may be given from Python: text wherever the command line's text is parsed, one or several of what may be."""
    spec, kind = declared.spec, declared.type
    annotation: Any = kind
    if spec.from_python is not None:
        [hint] = [hint for name, hint in typing.get_type_hints(spec.from_python).items() if name != "return"]
        annotation = hint | str
    elif declared.choices:
        annotation = Literal[tuple(map(str, declared.choices))]
    elif kind is Path:
        annotation = str | Path
    elif spec.parse is not None:
        annotation = kind | str if kind in (int, float) else str
    if declared.several and spec.from_python is None:
        annotation = annotation | Sequence[annotation]
    return annotation | None if declared.default in (None, ()) else annotation


def _with_keywords(text: str, declared: Sequence[DeclaredOption]) -> str:
    """A docstring with a sentence about each option, after those about the other arguments."""
    lines = [text.rstrip()] if "\nArgs:\n" in text else [text.rstrip(), "", "Args:"]
    flags = {flag: option for option in declared for flag in option.spec.flags}
    for option in declared:
        # How a value is written, where that is more than a word.
        shape = f" ({option.spec.metavar})" if re.search("[|=,]", option.spec.metavar or "") else ""
        sentence = help_text(option.spec).replace("may be repeated", "one or several")
        words = f"{option.name}{shape}: {python_words(' '.join(sentence.split()), flags)}"
        lines.append(
            textwrap.fill(words, DOCSTRING_WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8,
                          break_long_words=False, break_on_hyphens=False)
        )  # fmt: skip
    return "\n".join(lines) + "\n"


def help_text(spec: OptionSpec) -> str:
    """What `--help` says of an option."""
    text = spec.help() if callable(spec.help) else spec.help
    if "{measures}" not in text:
        return text
    from harness.measures import measures_for_help

    return text.replace("{measures}", measures_for_help())


@contextmanager
def spelled_in_python(kind: type[OptionSet] | None = None) -> Iterator[None]:
    """Within it, errors name keywords, not the flags of the command line; those of the set go before others."""
    try:
        yield
    except HateError as error:
        known = {flag: option for option in _all_options(kind) for flag in option.spec.flags}
        error.args = (python_words(str(error), known), *error.args[1:])
        raise


def _all_options(kind: type[OptionSet] | None) -> Iterator[DeclaredOption]:
    """Those of all sets that are in use, then, so that they win, those of one."""
    kinds: list[type[OptionSet]] = [OptionSet]
    for known in kinds:
        kinds += known.__subclasses__()
    for known in [*kinds[1:], *([] if kind is None else [kind])]:
        yield from declared_options(known)


# A command between backticks; a command; a flag, with what follows it if that may be its value.
_NAMED = re.compile(
    r"`hate [^`]*`|(?<![\w./-])hate (?P<command>[a-z]+(?: --(?:sequential|table))?)\b|"
    r"(?<![\w./'-])(?P<flag>--[a-z][a-z0-9-]*|-[a-z]\b)(?P<value>[= ](?:'[^']*'|[^\s,;`)(]+(?:,[^\s,;`)(]+)*))?"
)
# COLUMN, FILE.svg, NAME=VALUE: words that stand for a value.
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*(?:=[A-Z_,|]+|[.,|][\w.,|=]*)?")
# Commands, and flags of some, that are functions of another name.
OTHER_NAMES = {
    "report": "make_report",
    "import": "load",
    "list": "list_tests",
    "new interface": "new_interface",
    "new script": "new_script",
    "new matrix": "new_matrix",
    "test": "check_regression",
    "run --train-folds": "run_train_folds",
    "rate --sequential": "compare_sequentially",
    "compare --sequential": "compare_sequentially",
    "compare --table": "compare_table",
    "token add": "add_token",
    "token quota": "set_token_quota",
    "token remove": "remove_token",
    "token list": "list_tokens",
    "cache list": "list_cache",
    "cache verify": "verify_cache",
    "cache clear": "clear_cache",
    "cache forget": "forget_site",
}
_NUMBER = re.compile(r"-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?")


def python_words(text: str, options: Mapping[str, DeclaredOption]) -> str:
    """A text that was written for the command line, with keywords for flags: `--by COLUMN`, `by=COLUMN`.

    Commands that stand between backticks with their arguments are for a shell, and stay.
    """

    def spelled(match: re.Match[str]) -> str:
        if match["flag"] is None:
            command = match["command"] or match[0][6:-1]
            name = OTHER_NAMES.get(command, command)
            if name not in dir(harness):
                return match[0]
            return f"harness.{name}" if match["command"] else f"`harness.{name}`"
        option = options.get(match["flag"])
        if option is None:
            return match[0]
        word = match["value"] or ""
        if option.type is bool:
            return f"{option.name}=True{word}"
        value = word[1:].rstrip(":.")
        if value and (word[0] == "=" or _is_value(value, option, said=word.endswith(":"))):
            return f"{option.name}={_python_value(value, option)}{word[len(value) + 1 :]}"
        return option.name + word

    return _NAMED.sub(spelled, text)


def _is_value(word: str, option: DeclaredOption, *, said: bool) -> bool:
    """Whether the word behind a flag is its value, and not the next one of a sentence."""
    return (
        said
        or word.lower() in {"none", *option.choices}
        or word.startswith("'")
        or bool(re.search(r"[\d=/{]|\w[.,]\w", word))
        or bool(_PLACEHOLDER.fullmatch(word))
    )


def _python_value(word: str, option: DeclaredOption) -> str:
    if word.startswith("'") or _NUMBER.fullmatch(word) or _PLACEHOLDER.fullmatch(word):
        return word
    name, equals, value = word.partition("=")
    return f"{{{name!r}: {value!r}}}" if option.name == "params" and equals else repr(word)
