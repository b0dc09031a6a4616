"""Texts in the words of Python: keywords for flags, and functions for commands.

Errors and sentences are written once, as the command line says them: `--by COLUMN`, `hate rate`. What a function that
`harness` shows returns or raises is told to a Python program, as `by=COLUMN` and `harness.rate`. The words of others
that such a text quotes stay as they are: what the caller gave, what a program said, what stands between quotes.
"""

import functools
import inspect
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from inspect import Parameter
from pathlib import Path
from typing import ParamSpec, TypeVar

import harness
from harness.errors import HateError, Interrupted, quoted_in, quoting
from harness.options import DeclaredOption, OptionSet, declared_options
from harness.report.blocks import Block, CommandText, Paragraphs

P = ParamSpec("P")
R = TypeVar("R")

# Between quotes; a command between backticks; a command, with a flag; "this command"; a flag, with what follows it if
# that may be its value.
_VALUE = r"[= ](?:'[^']*'|[^\s,;`)(]+(?:,[^\s,;`)(]+)*)"
_NAMED = re.compile(
    rf"(?<!\w)'[^'\n]*'(?!\w)|`(?P<line>hate [^`]*)`|"
    rf"(?<![\w./-])hate (?P<command>(?:new|token|cache) [a-z]+\b|[a-z]+\b)(?P<more> --[a-z-]+(?:{_VALUE})?)?|"
    rf"\b(?P<this>this|the same) command\b|"
    rf"(?<![\w./'-])(?P<flag>--[a-z][a-z0-9-]*|-[a-z]\b)(?P<value>{_VALUE})?"
)
# COLUMN, FILE.svg, NAME=VALUE: words that stand for a value.
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*(?:=[A-Z_,|]+|[.,|][\w.,|=]*)?")
_NUMBER = re.compile(r"-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?")
# Commands, and flags of some, that are functions of another name.
OTHER_NAMES = {
    "report": "make_report",
    "import": "load",
    "list": "list_tests",
    "list --interfaces": "list_interfaces",
    "list --plugins": "list_plugins",
    "list --transcripts": "list_transcripts",
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
# What only the command line has, unless the function has an option of this name.
OTHER_FLAGS = {
    "--sequential": "compare_sequentially",
    "--table": "counts",
    "--all": "print()",
    "--plot": ".plot()",
    "--format json": ".to_dict()",
    "--format csv": ".to_frame()",
}


class PythonWords:
    """Puts texts into the words of Python, for a caller of one function.

    Its own options go before those of others with the same flags; what the caller gave is quoted as it is.
    """

    def __init__(self, kind: type[OptionSet] | None = None, given: object = ()) -> None:
        self.kind = kind
        self.given = [text for text in _texts(given) if _NAMED.search(text)]

    def __call__(self, text: str) -> str:
        if not _NAMED.search(text):
            return text
        if isinstance(text, CommandText):
            head, hate, line = text.rpartition("hate ")
            return CommandText(head + (_call(hate + line) or hate + line))
        quoted = quoted_in(text)
        return quoting(python_words(text, known_flags(self.kind), [*self.given, *quoted]), *quoted)

    def blocks(self, blocks: Sequence[Block]) -> list[Block]:
        """What people read: the sentences of it; tables have data."""
        return [
            Paragraphs([self(text) for text in block.texts]) if isinstance(block, Paragraphs) else block
            for block in blocks
        ]

    def tell(self, error: HateError | Interrupted) -> None:
        """Put an error and its note into words; what others raised, on which it rests, is quoted as it is."""
        quoted = [text for other in _causes(error) for text in _quoted_by(other)]
        words = PythonWords(self.kind, [self.given, quoted])
        if isinstance(error, HateError):
            first = error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
            error.args = (words(first), *error.args[1:])
        error.note = words(error.note)

    def hand_over(self, made: R) -> R:
        """Tell what a function returns that it is for Python, and the results in it."""
        several = made if isinstance(made, (list, tuple)) and made and isinstance(made[0], ForReaders) else [made]
        for one in several:
            if isinstance(one, ForReaders):
                one.tell_in(self)
        return made


class ForReaders:
    """What has sentences for people: as the command line says them, until a function of Python returns it."""

    _words: PythonWords | None = None

    def tell_in(self, words: PythonWords) -> None:
        """Speak to a Python program from now on; also what is in it."""
        for name, value in list(vars(self).items()):
            if name in ("remarks", "cautions"):
                object.__setattr__(self, name, [words(text) for text in value])
            elif isinstance(value, (ForReaders, list, tuple)):
                words.hand_over(value)
        object.__setattr__(self, "_words", words)

    def said(self, texts: Sequence[str]) -> Sequence[str]:
        """Sentences as the reader is told them."""
        return texts if self._words is None else [self._words(text) for text in texts]

    def shown(self, blocks: Sequence[Block]) -> Sequence[Block]:
        """What is read, with its sentences as the reader is told them."""
        return blocks if self._words is None else self._words.blocks(blocks)


@contextmanager
def spelled_in_python(kind: type[OptionSet] | None = None, given: object = ()) -> Iterator[PythonWords]:
    """Within it, errors name keywords, not the flags of the command line; `given` is what the caller gave."""
    words = PythonWords(kind, given)
    try:
        yield words
    except (HateError, Interrupted) as error:
        words.tell(error)
        raise


def in_python_words(method: Callable[P, R]) -> Callable[P, R]:
    """A method of a result, which is called from Python."""

    @functools.wraps(method)
    def call(*arguments: P.args, **keywords: P.kwargs) -> R:
        with spelled_in_python(None, [arguments[1:], keywords]) as words:
            return words.hand_over(method(*arguments, **keywords))

    return call


def _texts(given: object) -> Iterator[str]:
    """The texts in what a caller gave, and the names of files."""
    if isinstance(given, (str, Path)):
        yield from (str(given), Path(given).name)
    elif isinstance(given, Mapping):
        yield from _texts([*given.keys(), *given.values()])
    elif isinstance(given, (list, tuple, set)):
        for item in given:
            yield from _texts(item)
    else:
        with suppress(HateError):  # of what has several files, or none
            path = getattr(given, "path", None)
            yield from _texts(path) if isinstance(path, Path) else ()


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An exception, and those that were being handled when it was raised."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


def _quoted_by(error: BaseException) -> Iterator[str]:
    """The words of others in an exception: those that it quotes, or all of one that is not ours."""
    if isinstance(error, HateError):
        yield from (text for argument in error.args if isinstance(argument, str) for text in quoted_in(argument))
    elif not isinstance(error, Interrupted):
        with suppress(Exception):  # a class of the caller's, whose __str__ may fail too
            text = str(error)
            yield from (text, " ".join(text.split()), *text.splitlines())


def known_flags(kind: type[OptionSet] | None) -> dict[str, DeclaredOption]:
    """The options of all functions, those of one set before others, by their flags."""
    for name in dir(harness):
        with suppress(ImportError):  # of an extra that is not installed
            getattr(harness, name)
    kinds: list[type[OptionSet]] = [OptionSet]
    for known in kinds:
        kinds += known.__subclasses__()
    ours = [known for known in kinds[1:] if not known.__module__.startswith("harness.cli.")]
    flags = {flag: option for known in ours for option in declared_options(known) for flag in option.spec.flags}
    own = {} if kind is None else {flag: option for option in declared_options(kind) for flag in option.spec.flags}
    others = {flag.partition(" ")[0] for flag in OTHER_FLAGS}
    return {flag: option for flag, option in flags.items() if flag not in others} | own


def python_words(text: str, options: Mapping[str, DeclaredOption], quoted: Sequence[str] = ()) -> str:
    """A text that was written for the command line, with keywords for flags: `--by COLUMN`, `by=COLUMN`.

    What is quoted stays as it is, and so do commands that cannot be written as a call.
    """
    marks = {f"⟦{number}⟧": words for number, words in enumerate(sorted({*quoted} - {""}, key=len, reverse=True))}
    for mark, words in marks.items():
        text = re.sub(rf"(?<![\w-]){re.escape(words)}(?!\w)", mark, text)

    def spelled(match: re.Match[str]) -> str:
        if match["line"]:
            return f"`{_function(match['line'][5:]) or _call(match['line']) or match['line']}`"
        if match["command"]:
            return _with_flag(match["command"], match["more"] or "", options) or match[0]
        if match["this"]:
            return f"{match['this']} call"
        return match[0] if match["flag"] is None else _keyword(match["flag"], match["value"] or "", options)

    text = _NAMED.sub(spelled, text)
    for mark, words in marks.items():
        text = text.replace(mark, words)
    return text


def _keyword(flag: str, word: str, options: Mapping[str, DeclaredOption]) -> str:
    """A flag, with what follows it if that may be its value."""
    option = options.get(flag)
    if option is None:
        return OTHER_FLAGS.get(flag + word) or OTHER_FLAGS.get(flag, flag) + word
    if option.type is bool:
        return f"{option.name}=True{word}"
    value = word[1:].rstrip(":.")
    if value and (word[0] == "=" or _is_value(value, option, said=word.endswith(":"))):
        return f"{option.name}={_python_value(value, option)}{word[len(value) + 1 :]}"
    return option.name + word


def _is_value(word: str, option: DeclaredOption, *, said: bool) -> bool:
    """Whether the word behind a flag is its value, and not the next one of a sentence."""
    return (
        said
        or word.lower() in {"none", *option.choices}
        or word.startswith("'")
        or bool(re.search(r"[\d=/{_]|\w[.,]\w", word))
        or bool(_PLACEHOLDER.fullmatch(word))
    )


def _python_value(word: str, option: DeclaredOption) -> str:
    name, equals, value = word.partition("=")
    if option.name == "params" and equals and not _PLACEHOLDER.fullmatch(word):
        return f"{{{name!r}: {value!r}}}"
    return word if word.startswith("'") else _literal(word)


def _literal(word: str) -> str:
    return word if _NUMBER.fullmatch(word) or _PLACEHOLDER.fullmatch(word) else repr(word)


def _function(command: str) -> str | None:
    """The function of a command; None if it has none."""
    name = OTHER_NAMES.get(command, command)
    return f"harness.{name}" if name in dir(harness) else None


def _with_flag(command: str, more: str, options: Mapping[str, DeclaredOption]) -> str | None:
    """A command in a sentence, perhaps with a flag: `hate roc --at`, `harness.roc(at=...)`."""
    flag, _, word = more.strip().partition(" ")
    if more and (named := _function(f"{command} {flag}")):
        return f"{named} {word}".rstrip()
    name = _function(command)
    if name is None or not more:
        return name
    option = options.get(flag)
    if option is None:
        return f"{name}{_keyword(more[:1] + flag, more[1 + len(flag) :], options)}"
    if option.type is bool:
        return f"{name}({option.name}=True) {word}".rstrip()
    if word and _is_value(word, option, said=False):
        return f"{name}({option.name}={_python_value(word, option)})"
    return f"{name}({option.name}=...) {word}".rstrip()


def _call(line: str) -> str | None:
    """A command line as a call: `hate rate T --by truth`, harness.rate(T, by='truth'); None if that cannot be."""
    try:
        [_, command, *words] = shlex.split(line)
    except ValueError:
        return None
    for word in words:
        if f"{command} {word}" in OTHER_NAMES:
            words.remove(word)
            command = f"{command} {word}"
            break
    name = _function(command)
    if name is None:
        return None
    function = getattr(harness, name.removeprefix("harness."))
    parameters = inspect.signature(function).parameters
    options = inspect.signature(inspect.unwrap(function)).parameters.get("options")
    flags = known_flags(None if options is None else options.annotation)
    places = [known for known in parameters.values() if known.kind is Parameter.POSITIONAL_OR_KEYWORD]
    given, keywords, rest = list[str](), dict[str, list[str]](), iter(words)
    for word in rest:
        flag, equals, value = word.partition("=")
        option = flags.get(flag)
        if not word.startswith("-") or word == "-":
            given.append(_literal(word.removesuffix("...")))
        elif option is None or option.name not in parameters:
            return None
        else:
            value = "True" if option.type is bool else value if equals else next(rest, "...")
            keywords.setdefault(option.name, []).append(value)
    if len(given) > 1 and len(places) == 1:
        given = [f"[{', '.join(given)}]"]
    if len(given) > len(places):
        return None
    return f"{name}({', '.join([*given, *(f'{key}={_values(key, values)}' for key, values in keywords.items())])})"


def _values(name: str, values: Sequence[str]) -> str:
    """What a keyword is given."""
    pairs = [value.partition("=") for value in values]
    if name == "params" and all(equals for _, equals, _ in pairs):
        return f"{{{', '.join(f'{key!r}: {_literal(value)}' for key, _, value in pairs)}}}"
    shown = [value if value in ("True", "...") else _literal(value) for value in values]
    return shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"
