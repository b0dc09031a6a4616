"""What a line of a stream program says: an answer to a question, an error, or neither."""

from typing import Any

import msgspec

from harness.interface.contract import Setup
from harness.interface.wire import unspill
from harness.model import ErrorKind, Question, Reply

# A worker that says that a case took longer than a year is wrong.
LONGEST_SECONDS = 3.2e7
ANSWER_KEYS = ("answer", "label", "score", "scores", "value")
_ANSWER_KEYS = frozenset({*ANSWER_KEYS, "ranking", "mask", "boxes", "values"})
NOT_A_MESSAGE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(dict[str, Any]).decode


def quote(line: bytes) -> str:
    """A line for a message, shortened."""
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")


class ReplyReader:
    """Makes replies of the messages of a program, or of a worker of ours.

    A worker has measured the time itself, and may have put a large answer into a file. Its pipe is open to the code of
    the interface, so its messages are no more than a program's.
    """

    def __init__(self, setup: Setup, *, ours: bool) -> None:
        self._setup = setup
        self._ours = ours

    def read(self, question: Question, message: dict[str, Any], share: float, memory: int | None) -> Reply:
        """The reply in a message, without its id; `share` is the time that the harness measured."""
        own = message.pop("seconds", None) if self._ours else None
        seconds = own if isinstance(own, float) and 0 <= own < LONGEST_SECONDS else share
        if (error := message.get("error")) is not None:
            stated = message.get("kind") if self._ours else None
            kind = ErrorKind.ANSWER if stated == ErrorKind.ANSWER else ErrorKind.CRASH
            return Reply(question, None, kind, self._setup.limits.hint(str(error)), seconds, memory)
        if "answer" in message:
            answer = message["answer"]
            if self._ours and type(answer) is dict:
                answer = unspill(answer, self._setup.work)
            elif "values" in message:
                answer = {"answer": answer, "values": message["values"]}
            return Reply(question, answer, None, "", seconds, memory)
        if _ANSWER_KEYS.isdisjoint(message):
            text = f"no {', '.join(ANSWER_KEYS[1:])} or error in {quote(encode(message))}"
            return Reply(question, None, ErrorKind.ANSWER, text, seconds, memory)
        return Reply(question, message, None, "", seconds, memory)
