"""TREC runs, `topic Q0 document rank score tag`, with judgements of relevance (`--key`): `topic 0 document relevance`.

Each topic is a case. Its measures are those of trec_eval, with documents in its order: by score, equal scores by the
document's name in descending order; the printed rank is not used. A document that nobody judged is not relevant.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ForeignError
from harness.files.mistakes import Mistakes
from harness.transcript.importing.contract import UNNAMED, ImportedAnswer, ImportedRun, ImportOptions, Reader
from harness.transcript.importing.file import ForeignFile, fields_of, first_lines, is_number

VERDICT = "success_1"
# Relevance by document, by topic.
Judgements = Mapping[str, Mapping[str, int]]


def is_run(file: ForeignFile) -> bool:
    lines = first_lines(file)
    return bool(lines) and all(len(line) == 6 and line[1].upper() == "Q0" and is_number(line[4]) for line in lines)


@dataclass(frozen=True)
class RankedTopic:
    """The relevance of the documents that were found for a topic, the best first, and of all that are relevant."""

    gains: Sequence[int]
    ideal: Sequence[int]

    @property
    def average_precision(self) -> float:
        """The mean, over all relevant documents, of the precision where each is found; 0 for those that are not."""
        hits, total = 0, 0.0
        for rank, gain in enumerate(self.gains, 1):
            hits += gain > 0
            total += hits / rank if gain > 0 else 0.0
        return total / len(self.ideal)

    def ndcg(self, depth: int) -> float:
        """Discounted gain of the first documents, over that of the best order (Jarvelin and Kekalainen 2002)."""
        return _discounted(self.gains[:depth]) / _discounted(self.ideal[:depth])

    def precision(self, depth: int) -> float:
        """The share of relevant documents among the first."""
        return sum(gain > 0 for gain in self.gains[:depth]) / depth

    @property
    def reciprocal_rank(self) -> float:
        """One over the rank of the first relevant document."""
        return next((1 / rank for rank, gain in enumerate(self.gains, 1) if gain > 0), 0.0)

    @property
    def recall(self) -> float:
        """The share of relevant documents that were found at all."""
        return sum(gain > 0 for gain in self.gains) / len(self.ideal)

    @property
    def marks(self) -> dict[str, float]:
        return {
            VERDICT: float(bool(self.gains) and self.gains[0] > 0),
            "map": self.average_precision,
            "ndcg_10": self.ndcg(10),
            "p_10": self.precision(10),
            "rr": self.reciprocal_rank,
            "recall": self.recall,
        }


def _discounted(gains: Sequence[int]) -> float:
    return sum(max(gain, 0) / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def read_run(source: ForeignFile, options: ImportOptions) -> list[ImportedRun]:
    """A case for each topic that has a relevant document; one for which nothing was found counts as a refusal."""
    if options.key is None:
        raise ForeignError(f"{source.name}: a TREC run needs the judgements of relevance; name them with --key QRELS")
    judged = read_judgements(options.key)
    scores, tag = _scores(source)
    topics = [topic for topic, relevance in judged.items() if any(gain > 0 for gain in relevance.values())]
    if not set(topics) & set(scores):
        raise ForeignError(f"{source.name}: no topic of this run is judged in {options.key}; is it another collection?")
    results = [_result(source, topic, scores.get(topic, {}), judged[topic]) for topic in topics]
    return [
        ImportedRun(
            source.name,
            UNNAMED,
            tag or source.stem,
            results,
            tool="a TREC run",
            verdict=VERDICT,
            notes=_notes(topics, scores, judged),
            directions=dict.fromkeys(results[0].marks, True),
        )
    ]


def _result(
    source: ForeignFile, topic: str, scores: Mapping[str, float], relevance: Mapping[str, int]
) -> ImportedAnswer:
    ordered = sorted(scores, key=lambda document: (scores[document], document), reverse=True)
    ideal = sorted((gain for gain in relevance.values() if gain > 0), reverse=True)
    ranked = RankedTopic([relevance.get(document, 0) for document in ordered], ideal)
    return ImportedAnswer(
        id=topic,
        location=f"{source.name}: topic {topic}",
        marks=dict(ranked.marks),
        expect=f"{len(ideal)} relevant of {len(relevance)} judged",
        actual=ordered[0] if ordered else None,
    )


def _notes(topics: Sequence[str], scores: Mapping[str, object], judged: Judgements) -> list[str]:
    notes = []
    if lacking := sum(topic not in scores for topic in topics):
        notes.append(f"{lacking:,} of {len(topics):,} topics have no document in this run; all their measures are 0")
    if barren := len(judged) - len(topics):
        notes.append(f"{barren:,} topics without a relevant document are left out")
    if unknown := sum(topic not in judged for topic in scores):
        notes.append(f"{unknown:,} topics of this run were not judged, and are left out")
    return notes


def _scores(source: ForeignFile) -> tuple[dict[str, dict[str, float]], str]:
    """The score of every document, by topic, and the name of the run."""
    scores: dict[str, dict[str, float]] = {}
    mistakes, tag = Mistakes(source.name), ""
    for number, fields in fields_of(source.data, source.name):
        if len(fields) != 6 or not is_number(fields[4]) or not math.isfinite(float(fields[4])):
            mistakes.add("expected topic Q0 document rank score tag", location=f"line {number}")
            continue
        topic, _, document, _, score, tag = fields
        if document in scores.setdefault(topic, {}):
            mistakes.add(f"document '{document}' appears twice for topic {topic}", location=f"line {number}")
        scores[topic][document] = float(score)
    mistakes.raise_if_any(ForeignError)
    return scores, tag


def read_judgements(path: Path) -> dict[str, dict[str, int]]:
    """Relevance by topic and document."""
    file, judged = ForeignFile(path), dict[str, dict[str, int]]()
    mistakes = Mistakes(f"--key {file.name}")
    for number, fields in fields_of(file.data, file.name):
        try:
            topic, _, document, gain = fields
            judged.setdefault(topic, {})[document] = int(gain)
        except ValueError:
            mistakes.add("expected topic 0 document relevance", location=f"line {number}")
    mistakes.raise_if_any(ForeignError)
    return judged


READERS: tuple[Reader, ...] = (
    Reader("trec", "a TREC run (topic Q0 document rank score tag)", is_run, read_run, takes_key=True),
)
