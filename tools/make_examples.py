"""Make the examples of docs/: made-up logs of two language models, and recaptures of images in changing weather.

python -m tools.make_examples [FOLDER]
"""

import json
import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path

DOCUMENTS, QUESTIONS = 40, 6
TOPICS = ("law", "medicine", "sport", "travel")
SKILL = {"large": 1.35, "small": 0.8}  # log-odds of a right answer to a question of a document of average difficulty
SUBJECTS, IMAGES, TIMES = 24, 3, 36


def _chance(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


def log(model: str) -> Iterator[str]:
    """Lines as lm-evaluation-harness writes them. What a document does to a model is the same for all its questions."""
    rng = random.Random(f"log {model}")  # noqa: S311
    for document in range(DOCUMENTS):
        shared = random.Random(f"document {document}").gauss(0, 0.8) + rng.gauss(0, 1.1)  # noqa: S311
        for question in range(QUESTIONS):
            luck, partial = rng.random(), round(rng.uniform(0, 0.8), 2)
            right = luck < _chance(SKILL[model] + shared)
            yield json.dumps(
                {
                    "doc_id": document * QUESTIONS + question,
                    "doc": {"document": f"d{document:02}", "topic": TOPICS[document % 4], "question": question + 1},
                    "target": f"answer {document}-{question}",
                    "resps": [[f"answer {document}-{question}" if right else "no idea"]],
                    "filtered_resps": [f"answer {document}-{question}" if right else "no idea"],
                    "filter": "none",
                    "metrics": ["exact_match", "f1"],
                    "exact_match": float(right),
                    "f1": 1.0 if right else partial,
                }
            )


def recaptures() -> Iterator[str]:
    """A table: 3 images of each of 24 people, taken again at 36 times of different weather; recognised or not."""
    rng = random.Random("weather")  # noqa: S311
    weather = [rng.gauss(0, 0.9) for _ in range(TIMES)]
    yield "id,success,subject,image,time"
    for subject in range(SUBJECTS):
        person = rng.gauss(0.8, 0.8)
        for image in range(IMAGES):
            picture = person + rng.gauss(0, 1.5)
            for time in range(TIMES):
                found = rng.random() < _chance(picture + weather[time])
                yield f"s{subject:02}-{image}-{time:02},{int(found)},s{subject:02},s{subject:02}-{image},{time:02}"


def make(folder: Path) -> None:
    """Write all of them."""
    for model in SKILL:
        path = folder / "logs" / model / "samples_reading.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in log(model)), encoding="utf-8")
    (folder / "weather.csv").write_text("".join(f"{line}\n" for line in recaptures()), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1] if len(sys.argv) > 1 else "examples"))
