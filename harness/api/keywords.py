"""Functions as Python programs call them: every option a keyword, and texts that name keywords instead of flags.

A function takes its options as one object, as the commands give it; `by_keyword` makes of it what `harness` shows:

    def compare(transcripts: Transcripts, *, options: CompareOptions) -> CompareResult: ...

    harness.compare(["wisard", "witch"], by="truth")
"""

import functools
import inspect
import re
import textwrap
import typing
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from enum import Enum
from inspect import Parameter
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from harness.api.wording import in_python_words, python_words, spelled_in_python
from harness.options import DeclaredOption, OfflineOptions, OptionSet, OptionSpec, PictureOptions, declared_options
from harness.options.declaration import class_options
from harness.params import nearest

P = ParamSpec("P")
R = TypeVar("R")
DOCSTRING_WIDTH = 100
# What is said of arguments that many functions take, where a function says nothing else.
ARGUMENTS = {
    "transcripts": "Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.",
    "test": "What `load_test` returned, or a name, path or URL.",
    "interface": "As for `run`.",
    "name": "What the algorithm is to be called.",
    "progress": "As for `run`.",
}


def by_keyword(function: Callable[..., R]) -> Callable[..., R]:
    """The function with a keyword for each of its options, all of them in its signature and its docstring."""
    signature = inspect.signature(function)
    options = signature.parameters.get("options")
    kind: type[OptionSet] | None = None if options is None else options.annotation
    own = [name for name, parameter in signature.parameters.items() if parameter.kind is Parameter.KEYWORD_ONLY]
    positional = [name for name in signature.parameters if name not in own]

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> R:
        from harness.site.config import without_network  # not for `hate --help`

        with spelled_in_python(kind, [arguments, keywords.copy()]) as words:
            if kind is None:
                for name in keywords:
                    if name not in signature.parameters:
                        raise TypeError(f"there is no option {name!r}; {nearest(name, own)}")
                return words.hand_over(function(*arguments, **keywords))
            # A name that is not known goes to the options, which suggest the nearest one.
            rest = {name: keywords.pop(name) for name in list(keywords) if name in signature.parameters}
            if len(positional) == 1 < len(arguments):
                raise TypeError(
                    f"{function.__name__}() takes one argument without a keyword, {positional[0]}; "
                    f"give a list, {function.__name__}([...])"
                )
            given = kind.of(keywords)
            given.check_needs()
            # The network is used as the options say, as a command does from its start.
            with without_network() if isinstance(given, OfflineOptions) and given.offline else nullcontext():
                return words.hand_over(function(*arguments, **rest, options=given))

    if kind is not None:
        # Without a sentence, one that is inherited and has no meaning here.
        declared = [option for option in declared_options(kind) if option.spec.help]
        parameters = [signature.parameters[name] for name in positional]
        parameters += map(keyword_parameter, declared)
        parameters += [signature.parameters[name] for name in own if name != "options"]
        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__doc__ = _with_keywords(inspect.getdoc(function) or "", declared, signature.parameters)
    return call


def draws(method: Callable[P, R]) -> Callable[P, R]:
    """A method of a result whose `**look` are `PictureKeywords`: all of them in its signature and its docstring."""
    call, signature, declared = in_python_words(method), inspect.signature(method), class_options(PictureOptions)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not Parameter.VAR_KEYWORD]
    parameters = [*own, *map(keyword_parameter, declared)]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__doc__ = _with_keywords(inspect.getdoc(method) or "", declared)
    return call


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


def _with_keywords(text: str, declared: Sequence[DeclaredOption], arguments: Iterable[str] = ()) -> str:
    """A docstring with a sentence about each option, after those about the other arguments."""
    lines = [text.rstrip()] if "\nArgs:\n" in text else [text.rstrip(), "", "Args:"]
    unsaid = [name for name in arguments if name in ARGUMENTS and f"\n    {name}: " not in text]
    lines += [f"    {name}: {ARGUMENTS[name]}" for name in unsaid]
    flags = {flag: option for option in declared for flag in option.spec.flags}
    wrapper = textwrap.TextWrapper(DOCSTRING_WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    for option in declared:
        # How a value is written, where that is more than a word.
        shape = f" ({option.spec.metavar})" if re.search("[|=,]", option.spec.metavar or "") else ""
        sentence = help_text(option.spec).replace("may be repeated", "one or several")
        words = f"{option.name}{shape}: {python_words(' '.join(sentence.split()), flags)}"
        lines.append(wrapper.fill(words))
    return "\n".join(lines) + "\n"


def help_text(spec: OptionSpec) -> str:
    """What `--help` says of an option."""
    text = spec.help() if callable(spec.help) else spec.help
    if "{measures}" not in text:
        return text
    from harness.measures import measures_for_help

    return text.replace("{measures}", measures_for_help())
