"""Samples of what a run reads: scripts, tables, galleries, interfaces, archives, settings."""

import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec

from fuzz import mutations
from fuzz.sample import (
    ECHO,
    GALLERY,
    IMAGES,
    RANKS,
    SCRIPT,
    THRESHOLD,
    TRAIN,
    Sample,
    delimited,
    gallery,
    probes,
    rows,
)


def input_samples() -> Iterator[Sample]:
    """All of them."""
    yield from _scripts()
    yield from _tables()
    yield from _interfaces()
    yield from _archives()


def _scripts() -> Iterator[Sample]:
    commands = ("check @", "describe @", "describe @ --format json", "run @ -o out.jsonl --force", "list",
                "publish @ --to site --dry-run", "test @", "sweep @ --param threshold=0,1", "roc @ -o out.jsonl",
                )  # fmt: skip
    whole = (
        SCRIPT.format(task="label", keys="", suffix="csv")
        + IMAGES.format(path="images", unpack="false")
        + TRAIN
        + THRESHOLD
    )
    files = {
        "test.hate.toml": whole.encode(), "cases.csv": delimited(",", rows()), "interface.py": ECHO,
        "images/1.pgm": b"P5 1 1 1 a",
        "train.csv": b"id,input,expect\nt1,{images}/1.pgm,x1\nt2,x2,x2\n",
    }  # fmt: skip
    yield Sample("script", files, "test.hate.toml", mutations.TOML, commands)
    yield Sample(
        "training table",
        files,
        "train.csv",
        mutations.CSV,
        ("check @", "check .", "run test.hate.toml -o out.jsonl --force"),
    )
    glob = (
        whole.replace('table = "cases.csv"', 'glob = "{images}/*.pgm"\npattern = "(?P<expect>\\\\d)"')
        .replace("stratum", "#")
        .replace("psu", "#")
        .replace("cofactors", "#")
    )
    yield Sample(
        "script with a glob", files | {"test.hate.toml": glob.encode()}, "test.hate.toml", mutations.TOML, commands[:4]
    )
    value = SCRIPT.format(task="value", keys="tolerance = {absolute = 0.1}", suffix="csv")
    numbers = [case | {"expect": str(n)} for n, case in enumerate(rows())]
    of_values = {"test.hate.toml": value.encode(), "cases.csv": delimited(",", numbers), "interface.py": ECHO}
    yield Sample("script of values", of_values,
                 "test.hate.toml", mutations.TOML, commands[:4])  # fmt: skip
    settings = {"home/.config/hate/config.toml": b'sites = ["site"]\n[keys]\n"site" = "ed25519:AAAA"\n'}
    yield Sample("settings", files | settings,
                 "home/.config/hate/config.toml", mutations.TOML, ("list", "describe toy", "show toy/x"))  # fmt: skip


def _tables() -> Iterator[Sample]:
    commands = (
        "check test.hate.toml",
        "check .",
        "run test.hate.toml -o out.jsonl --force",
        "describe test.hate.toml",
        "list",
    )
    tables = {"csv": (delimited(",", rows()), mutations.CSV), "tsv": (delimited("\t", rows()), mutations.TSV),
              "jsonl": (b"".join(json.dumps(row).encode() + b"\n" for row in rows()), mutations.LINES)}  # fmt: skip
    if find_spec("pyarrow") is not None:
        tables["parquet"] = (_parquet(), mutations.BINARY)
    for suffix, (data, damage) in tables.items():
        script = SCRIPT.format(task="label", keys="", suffix=suffix).encode()
        files = {"test.hate.toml": script, f"cases.{suffix}": data, "interface.py": ECHO}
        yield Sample(f"table {suffix}", files, f"cases.{suffix}", damage, commands)
    rank = (SCRIPT.format(task="rank", keys="", suffix="csv") + GALLERY).encode()
    files = {
        "test.hate.toml": rank,
        "gallery.csv": gallery(),
        "cases.csv": delimited(",", probes()),
        "interface.py": RANKS,
    }
    yield Sample("gallery", files, "gallery.csv", mutations.CSV, commands)
    yield Sample("probes", files, "cases.csv", mutations.CSV, commands)


def _parquet() -> bytes:
    import pyarrow
    import pyarrow.parquet as parquet

    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows()), file)
    return file.getvalue()


def _interfaces() -> Iterator[Sample]:
    test = {
        "toy/test.hate.toml": SCRIPT.format(task="label", keys="", suffix="csv").encode(),
        "toy/cases.csv": delimited(",", rows()),
    }
    command = (
        b'[algorithm]\nname = "echo"\nversion = "1"\nparams = {bits = 3, mode = "fast"}\n\n'
        b'[command]\nargv = ["echo", "{input}"]\noutput = "label"\n'
    )
    yield Sample(
        "command interface",
        test | {"interface.toml": command},
        "interface.toml",
        mutations.TOML,
        ("check @", "check .", "list --interfaces", "run toy -o out.jsonl --force"),
    )
    service = b'[algorithm]\nname = "far"\n\n[http]\nurl = "http://127.0.0.1:9/"\nheaders = {X-Key = "{env:HOME}"}\n'
    yield Sample("http interface", test | {"interface.toml": service}, "interface.toml", mutations.TOML, ("check @",))
    table = b"id,label,score\n" + b"".join(f"c{n},x{n % 5},0.{n}\n".encode() for n in range(12))
    scores = test | {"interface.toml": b'[scores]\ntable = "scores.csv"\n', "scores.csv": table}
    commands = ("check interface.toml", "run toy -o out.jsonl --force", "run toy --case c1 --verbose")
    yield Sample("scores interface", scores, "interface.toml", mutations.TOML, commands)
    yield Sample("scores", scores, "scores.csv", mutations.CSV, commands)


def _archives() -> Iterator[Sample]:
    packed = {"zip": io.BytesIO(), "tar": io.BytesIO(), "tar.gz": io.BytesIO()}
    with zipfile.ZipFile(packed["zip"], "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/1.pgm", b"P5 1 1 1 a" * 50)
        archive.writestr("a/2.pgm", b"P5 1 1 1 b")
    for name, mode in (("tar", "w"), ("tar.gz", "w:gz")):
        with tarfile.open(fileobj=packed[name], mode=mode) as archive:  # type: ignore[call-overload]
            for member in ("a/1.pgm", "a/2.pgm"):
                info = tarfile.TarInfo(member)
                info.size = 10
                archive.addfile(info, io.BytesIO(b"P5 1 1 1 a"))
    for suffix, file in packed.items():
        script = SCRIPT.format(task="label", keys="", suffix="csv").partition("[design]")[0] + IMAGES.format(
            path=f"d.{suffix}", unpack="true"
        )
        cases = b"id,input,expect\n1,{images}/a/1.pgm,x\n2,{images}/a/2.pgm,y\n"
        files = {"test.hate.toml": script.encode(), "cases.csv": cases,
                 f"d.{suffix}": file.getvalue(), "interface.py": ECHO}  # fmt: skip
        yield Sample(
            f"archive {suffix}",
            files,
            f"d.{suffix}",
            mutations.BINARY,
            ("check .", "run test.hate.toml -o out.jsonl --force", "describe test.hate.toml"),
        )
