"""Importer `kaldi`: the `per_utt` file of Kaldi's wer_per_utt_details.pl.

It has four lines for each utterance:

    utt1 ref  the cat sat
    utt1 hyp  the cat ***
    utt1 op    C   C   D
    utt1 #csid 2 0 0 1
"""

import re
from collections.abc import Mapping

from harness.errors import ForeignError
from harness.transcript.importing import ForeignFile, ImportedAnswer, ImportedRun, ImportOptions, Reader

_LINE = re.compile(r"(?P<id>\S+) +(?P<key>ref|hyp|op|#csid)(?: +(?P<rest>.*))?")
_NO_WORD = "***"


def sniff(file: ForeignFile) -> bool:
    """The first line is the reference of an utterance."""
    found = _LINE.fullmatch(file.start.partition(b"\n")[0].decode(errors="replace").rstrip())
    return found is not None and found["key"] == "ref"


def read(file: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """One run: the file's name stands for the algorithm."""
    utterances: dict[str, dict[str, str]] = {}
    for number, line in enumerate(file.data.decode(errors="replace").splitlines(), 1):
        found = _LINE.fullmatch(line.rstrip())
        if found is None:
            raise ForeignError(f"{file.name}:{number}: not a line of a per_utt file: ID ref|hyp|op|#csid ...")
        utterances.setdefault(found["id"], {})[found["key"]] = found["rest"] or ""
    answers = [_answer(file, name, lines) for name, lines in utterances.items()]
    return [
        ImportedRun(
            file.name, "imported", file.stem, answers, tool="Kaldi", verdict="correct", graded=False, task="words",
            params={"wer": 0.0},
        )
    ]  # fmt: skip


def _answer(file: ForeignFile, name: str, lines: Mapping[str, str]) -> ImportedAnswer:
    location = f"{file.name}: {name}"
    try:
        correct, substituted, inserted, deleted = map(int, lines["#csid"].split())
        expect, actual = _text(lines["ref"]), _text(lines["hyp"])
    except (KeyError, ValueError):
        raise ForeignError(f"{location}: lines ref, hyp and #csid with four numbers are needed") from None
    words, errors = correct + substituted + deleted, substituted + inserted + deleted
    return ImportedAnswer(
        id=name,
        location=location,
        marks={"correct": float(errors == 0)},
        values={"errors": float(errors), "words": float(words)},
        expect=expect,
        actual=actual,
        score=errors / words if words else None,
    )


def _text(words: str) -> str:
    return " ".join(word for word in words.split() if word != _NO_WORD)


KALDI = Reader("kaldi", "a per_utt file of Kaldi", sniff, read)
