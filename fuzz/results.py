"""Samples of results: transcripts, matrices, logs of other tools, sites."""

import contextlib
import gzip
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from fuzz import mutations
from fuzz.sample import ECHO, FORMATS, RANKS, SCORES, Sample, folder, hate, test_of

LOGS = Path(__file__).parent.parent / "tests" / "data" / "import"
DESIGN = ("--by kind", "--by day:2", "--psu subject", "--stratum kind", "--weights equal", "--partial", "--psu none",
          "--lone average", "--confidence 0.8")  # fmt: skip
READING = ("show @", "show @ --sort score", "show @ --where kind=k1 --limit 2", "check @", "rate @", "rate @ --by kind",
           "diff @ other.jsonl", "compare @ other.jsonl", "compare @ other.jsonl --items", "confusion @",
           "report @ -o page.html", "report @ other.jsonl -o page.md", "list --transcripts",
           "import @", "publish @ --to site --dry-run")  # fmt: skip
RATES = ("--statistic tpr,fpr,f1", "--statistic seconds", "--statistic all", *DESIGN, *FORMATS)
PAIRS = ("--statistic f1", "--statistic auc", "--method jackknife", "--method bootstrap", "--margin 0.1", "--intersect",
         "--unpaired", "--baseline other", "--multiplicity max-t", *DESIGN, *FORMATS)  # fmt: skip
CURVES = ("--points 5", "--bands bootstrap", "--bands brr", "--at fpr=0.1", "--cost fp=2,fn=1", *DESIGN, *FORMATS)
RANKED = ("--ranks 2", "--censor 1", "--bands bootstrap", "--psu subject", *FORMATS)
METHODS = ("--ranks 2", "--stratum kind", "--psu subject", *FORMATS)
TRANSCRIPT_OPTIONS = {"rate": RATES, "compare": PAIRS, "diff": FORMATS, "show": FORMATS, "roc": CURVES, "det": CURVES,
                      "pr": CURVES, "cmc": RANKED, "methods": METHODS, "confusion": FORMATS}  # fmt: skip


def result_samples(scratch: Path) -> Iterator[Sample]:
    """All of them; transcripts and a site are made by the harness itself in a scratch folder."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        made = dict(_transcripts(scratch))
        sites = list(_sites(scratch, made))
    yield from _runs(made)
    yield from _resumed(made)
    yield from _matrices()
    yield from _logs()
    yield from sites


def _transcripts(scratch: Path) -> Iterator[tuple[str, bytes]]:
    """Transcripts of each task, by the name of the task."""
    for task, interface in {"label": ECHO, "score": SCORES, "rank": RANKS}.items():
        with folder(scratch / f"made-{task}", {**test_of(task), "interface.py": interface}):
            for name, more in ((task, []), (f"{task}-repeated", ["--repeat", "3"])):
                hate("run", "test.hate.toml", "-o", f"{name}.jsonl", *more)
                yield name, _timeless(Path(f"{name}.jsonl").read_bytes())


def _timeless(data: bytes) -> bytes:
    """A transcript without times and machine, so that the same seed damages the same bytes everywhere."""
    header, *records, end = map(json.loads, data.splitlines())
    header = {key: value for key, value in header.items() if key not in ("machine", "host", "platform", "python")}
    header["started"] = "2026-01-01T00:00:00Z"
    lines = [header, *(record | {"seconds": 0.001} for record in records)]
    body = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
    end = {key: value for key, value in end.items() if key not in ("ended", "seconds")} | {
        "sha256": hashlib.sha256(body).hexdigest()
    }
    return body + json.dumps(end, separators=(",", ":")).encode() + b"\n"


def _runs(made: Mapping[str, bytes]) -> Iterator[Sample]:
    more = {
        "label": (),
        "score": ("roc @", "det @", "pr @", "roc @ other.jsonl"),
        "rank": (
            "cmc @",
            "cmc @ other.jsonl",
            "methods @ --stratum kind",
            "urn @ --group kind --trial day --elements 1 --permutations 39",
        ),
    }
    for name, data in made.items():
        test = {f"toy/{file}": content for file, content in test_of(name.partition("-")[0]).items()}
        files = test | {"mine.jsonl": data, "other.jsonl": data, "transcripts/toy/mine.jsonl": data}
        commands = (*READING, *more[name.partition("-")[0]], "rate mine", "show toy/mine.jsonl")
        yield Sample(f"transcript {name}", files, "mine.jsonl", mutations.TRANSCRIPT, commands, TRANSCRIPT_OPTIONS)
        listed = ("list --transcripts", "rate mine", "show toy/mine.jsonl", "compare mine other.jsonl")
        yield Sample(
            f"run {name}", files, "transcripts/toy/mine.jsonl", mutations.TRANSCRIPT, listed, TRANSCRIPT_OPTIONS
        )
        packed = test | {"mine.jsonl.gz": gzip.compress(data, mtime=0), "other.jsonl": data}
        yield Sample(
            f"packed {name}", packed, "mine.jsonl.gz", mutations.PACKED_TRANSCRIPT, commands[:-2], TRANSCRIPT_OPTIONS
        )


def _resumed(made: Mapping[str, bytes]) -> Iterator[Sample]:
    """A run that was stopped, and damaged before it is carried on with; it is what the command writes to."""
    test = {f"toy/{name}": data for name, data in test_of("label").items() if name != "gallery.csv"}
    stopped = b"".join(made["label"].splitlines(keepends=True)[:9])
    commands = ("run toy -o @ --resume", "run toy -o @ --retry-errors", "run toy -o @", "run toy -o @ --resume -j 2")
    for name, data in (("stopped run", stopped), ("finished run", made["label"])):
        files = test | {"interface.py": ECHO, "mine.jsonl": data}
        yield Sample(name, files, "mine.jsonl", mutations.TRANSCRIPT, commands, keeps=False)


def _matrices() -> Iterator[Sample]:
    import numpy as np

    people = [f"p{n // 2}" for n in range(8)]
    scores = np.random.default_rng(0).random((8, 8))
    text = "\n".join(
        [
            ",".join(["", *people]),
            *(",".join([name, *map(str, row)]) for name, row in zip(people, scores, strict=True)),
            "",
        ]
    )
    labels = ("id,subject,session\n" + "".join(f"i{n},{name},{n % 2}\n" for n, name in enumerate(people))).encode()
    file = io.BytesIO()
    np.save(file, scores)
    options = {"cmc": ("--ranks 2", "--censor 1", "--bands brr", "--bands bootstrap", "--distance",
                       "--exclude-diagonal", *FORMATS),
               "galleries": ("--mix", "--ranks 2", "--distance", *FORMATS),
               "methods": ("--ranks 2", "--distance", "--exclude-diagonal", *FORMATS),
               "permute": ("--experiments 20", "--ranks 1", *FORMATS), "urn": ("--on score", *FORMATS)}  # fmt: skip
    commands = (
        "cmc @",
        "cmc @ --identity [a-z]\\d",
        "permute @ --experiments 10 --ranks 2",
        "galleries @ --by session --permutations 19",
        "methods @ --stratum subject",
        "urn @ --group session --trial subject --elements 1 --threshold 1 --permutations 39",
    )
    yield Sample("matrix csv", {"m.csv": text.encode()}, "m.csv", mutations.CSV, commands, options)
    yield Sample("matrix tsv", {"m.tsv": text.replace(",", "\t").encode()}, "m.tsv", mutations.TSV, commands, options)
    mapped = {"m.npy": file.getvalue(), "m.labels.csv": labels}
    yield Sample("matrix npy", mapped, "m.npy", mutations.NPY, commands, options)
    yield Sample(
        "labels",
        mapped,
        "m.labels.csv",
        mutations.CSV,
        (
            "cmc m.npy",
            "permute m.npy --experiments 10 --ranks 2",
            "cmc m.npy --gallery session=0",
            "galleries m.npy --by session --permutations 19",
            "methods m.npy --stratum subject",
        ),
        options,
    )


def _logs() -> Iterator[Sample]:
    found = [LOGS / "inspect_ai/graded.json", LOGS / "inspect_ai/capitals_zstd.eval", LOGS / "promptfoo/capitals.json",
             LOGS / "promptfoo/capitals.jsonl", *LOGS.glob("lm_eval/toy__longest-word/samples_sums*")]  # fmt: skip
    options = {"import": ("--success-at 0.5", "--partial", "--id id", "--value a,b", "--psu id", "--format json")}
    metrics = ("--metric overlap --success-at 0.5", "--metric match", "", "", "--metric exact_match,strict-match")
    for path, deciding in zip(found, metrics, strict=True):
        damage = {".json": mutations.DOCUMENT, ".jsonl": mutations.LINES}.get(path.suffix, mutations.BINARY)
        yield Sample(
            f"log {path.name[:20]}",
            {path.name: path.read_bytes()},
            path.name,
            damage,
            (f"import @ {deciding}",),
            options,
        )
    plain = b"id,y_true,y_pred,y_score,subject\n" + b"".join(
        f"{n},{n % 2},{n % 3 % 2},0.{n},s{n % 3}\n".encode() for n in range(12)
    )
    tables = {
        "import": (
            "--psu subject",
            "--stratum subject",
            "--success-at 0.5",
            "--positive-label 1",
            "--id id",
            "--value y_score",
            "--format json",
        )
    }
    yield Sample("results csv", {"r.csv": plain}, "r.csv", mutations.CSV, ("import @",), tables)
    yield Sample(
        "results gz",
        {"r.csv.gz": gzip.compress(plain, mtime=0)},
        "r.csv.gz",
        (*map(mutations.packed, mutations.CSV), mutations.bytes_of),
        ("import @",),
        tables,
    )
    lines = b"".join(
        json.dumps({"id": n, "y_true": n % 2, "y_pred": 1, "deep": {"a": n}}).encode() + b"\n" for n in range(12)
    )
    yield Sample("results jsonl", {"r.jsonl": lines}, "r.jsonl", mutations.LINES, ("import @",), tables)
    mapping = json.dumps({f"a__b-{n}": {"resolved": n % 2 == 0, "cost": n / 7} for n in range(6)}).encode()
    yield Sample("results json", {"r.json": mapping}, "r.json", mutations.DOCUMENT, ("import @",), tables)


def _sites(scratch: Path, made: Mapping[str, bytes]) -> Iterator[Sample]:
    """A site with a test and a transcript: each of its JSON files is damaged."""
    test = {f"toy/{name}": data for name, data in test_of("label").items() if name != "gallery.csv"}
    with folder(scratch / "made-site", test | {"mine.jsonl": made["label"]}):
        for what in ("toy", "mine.jsonl"):
            hate("publish", what, "--to", "site")
        files = {str(path): path.read_bytes() for path in sorted(Path("site").rglob("*")) if path.is_file()}
    commands = ("list", "list --transcripts", "describe toy", "fetch toy", "fetch toy/mine", "show toy/mine",
                "compare mine.jsonl toy/mine", "rate toy/mine",
                "publish mine.jsonl --to site --dry-run")  # fmt: skip
    indexes = sorted(name for name in files if "/index/" in name)
    others = sorted(name for name in files if "/files/" in name)
    for name, target in {"top": "site/hate-site.json", "index": indexes[0], "file": others[0]}.items():
        damage = (
            mutations.DOCUMENT
            if target.endswith(".json")
            else mutations.LINES
            if target.endswith(".jsonl")
            else mutations.BINARY
        )
        yield Sample(f"site {name}", files | {"mine.jsonl": made["label"]}, target, damage, commands, sites="site")
    with folder(scratch / "made-tokens", {}):
        for name in ("anna", "ben"):
            hate("token", "add", name, "--tokens", "tokens.db")
        tokens = Path("tokens.db").read_bytes()
    kept = files | {"tokens.db": tokens}
    yield Sample("tokens", kept, "tokens.db", mutations.BINARY, ("token list --tokens @",))
    changes = ("token quota anna 3 --tokens @", "token remove ben --tokens @")
    yield Sample("changed tokens", kept, "tokens.db", mutations.BINARY, changes, keeps=False)
    handed_in = ("publish @ --to site --dry-run", "check @", "publish @ --to site --dry-run --name other")
    yield Sample(
        "handed in", files | {"mine.jsonl": made["label"]}, "mine.jsonl", mutations.TRANSCRIPT, handed_in, sites="site"
    )
