"""Headers, trials and files for the tests of transcripts."""

from collections.abc import Iterable
from pathlib import Path

from hypothesis import strategies as st
from msgspec import UNSET

from harness.model import ErrorKind, Outcome, Trial
from harness.transcript.format import AlgorithmInfo, Header, TestInfo
from harness.transcript.read import open_transcript
from harness.transcript.write import TranscriptWriter

HEADER = Header("transcript", 1, TestInfo("hdigits", "1.0.0", "1:abc"), AlgorithmInfo("wisard", "1.0"))
FIRST_LINE = (
    b'{"hate":"transcript","format":1,"test":{"name":"t","version":"1","digest":"1:a"},"algorithm":{"name":"a"}}\n'
)

_finite = st.floats(allow_nan=False, allow_infinity=False)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | _finite | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
trials = st.builds(
    Trial,
    id=st.text(min_size=1, max_size=30),
    outcome=st.sampled_from(Outcome),
    positive=st.booleans() | st.just(UNSET),
    expect=st.text(max_size=10) | st.just(UNSET),
    truth=st.text(max_size=10) | st.just(UNSET),
    actual=_json | st.just(UNSET),
    score=_finite | st.none() | st.just(UNSET),
    error=st.sampled_from(ErrorKind) | st.none() | st.just(UNSET),
    message=st.text(max_size=30) | st.just(UNSET),
    seconds=st.floats(0, 1e6) | st.none() | st.just(UNSET),
    memory=st.integers(0, 2**50) | st.none() | st.just(UNSET),
    repeat=st.integers(1, 1000) | st.just(UNSET),
    stratum=st.text(max_size=5) | st.just(UNSET),
    psu=st.text(max_size=5) | st.just(UNSET),
    columns=st.dictionaries(st.sampled_from(["a", "b", "ü", ""]), _json, max_size=3) | st.just(UNSET),
    values=st.dictionaries(st.sampled_from(["a", "f1", "ü"]), _finite | st.none(), max_size=3) | st.just(UNSET),
)


def write(path: Path, written: Iterable[Trial], header: Header = HEADER) -> Path:
    writer = TranscriptWriter.create(path, header, force=True)
    for index, trial in enumerate(written):
        writer.append(index, trial)
    return writer.finish()


def read(path: Path) -> list[Trial]:
    with open_transcript(path) as reader:
        return [trial for block in reader.blocks() for trial in block]
