"""A small published site, served with ranges and entity tags, as by any web server."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.site.layout import TOP, Top, decode_top, encode
from harness.site.publish import publish
from harness.site.publish_candidates import read_candidates
from harness.site.signing import Signer, make_key, write_key
from tests.site.serving import Handler, Page, Server, serving
from tests.workshop import Workshop


def new_key(path: Path) -> Signer:
    """A key in a new file."""
    signer = make_key()
    write_key(signer, path)
    return signer


class Files(dict[str, Page]):
    """The files of a folder as pages; a page that is set for a path comes first."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root

    def get(self, key: str, default: Any = None) -> Any:
        path = self.root / key.lstrip("/")
        return self[key] if key in self else (with_ranges(path) if path.is_file() else default)


def with_ranges(path: Path) -> Page:
    """A file, all of it or from the byte that the client requests."""

    def page(handler: Handler) -> None:
        content = path.read_bytes()
        tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        start = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        if handler.headers.get("If-None-Match") == tag:
            handler.answer(b"", 304, ETag=tag)
        elif start and start >= len(content):
            handler.answer(b"", 416, Content_Range=f"bytes */{len(content)}")
        elif start:
            content_range = f"bytes {start}-{len(content) - 1}/{len(content)}"
            handler.answer(content[start:], 206, ETag=tag, Content_Range=content_range)
        else:
            handler.answer(content, 200, ETag=tag)

    return page


def interrupted(path: Path, size: int) -> Page:
    """A page whose connection breaks after `size` bytes, wherever it began."""

    def page(handler: Handler) -> None:
        content = path.read_bytes()
        start = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(content) - start))
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        handler.end_headers()
        handler.wfile.write(content[start : start + size])

    return page


@contextmanager
def served(root: Path) -> Iterator[Server]:
    with serving(Files(root)) as server:
        yield server


def tiny(folder: Path, *, version: str = "1.0.0", name: str = "tiny", count: int = 6, more: str = "") -> Path:
    """A test's folder, with data in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "images" / "deep").mkdir(parents=True, exist_ok=True)
    rows = [f"c{n},{{images}}/deep/{n}.txt,x{n},true" for n in range(count)]
    (folder / "cases.csv").write_text("\n".join(["id,input,expect,positive", *rows, ""]))
    for number in range(count):
        (folder / "images" / "deep" / f"{number}.txt").write_text(f"x{number}")
    script = folder / f"{name}.hate.toml"
    script.write_text(
        f'format = 1\n[test]\nname = "{name}"\nversion = "{version}"\nsynopsis = "the {name} one"\ntask = "label"\n'
        f'[cases]\ntable = "cases.csv"\n[data.images]\npath = "images"\n{more}'
    )
    return folder


READER = """\
from pathlib import Path
NAME = {name!r}
def answer(case, params):
    text = Path(case.input).read_text()
    return {answer}
"""


def run_transcript(shop: Workshop, folder: Path, name: str, answer: str = "text") -> Path:
    """A transcript of the test in a folder."""
    shop.interface(READER.format(name=name, answer=answer))
    output = shop.folder / f"{name}.jsonl"
    done = shop.call("run", f"{folder}/", "-o", output, "--force")
    assert done.status == 0, done.err
    return output


def make_site(shop: Workshop, root: Path) -> Path:
    """A site with the test `tiny` and two transcripts of it, `good` and `poor`."""
    folder = tiny(shop.folder.parent / "source" / "tiny")
    runs = [
        run_transcript(shop, folder, "good"),
        run_transcript(shop, folder, "poor", "text if text != 'x0' else None"),
    ]
    publish(root, read_candidates([folder, *runs]))
    for run in runs:
        run.unlink()
    return root


def top_of(root: Path) -> Top:
    return decode_top((root / TOP).read_bytes(), "top")


def put_top(root: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Replace the top index by a changed one."""
    top = json.loads((root / TOP).read_bytes())
    change(top)
    (root / TOP).write_bytes(json.dumps(top).encode())


def put_index(root: Path, document: Any) -> dict[str, Any]:
    """Write an index, and return the reference to it."""
    data = document if isinstance(document, bytes) else encode(document)
    sha256 = hashlib.sha256(data).hexdigest()
    path = root / "index" / sha256[:2] / f"{sha256}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return {"sha256": sha256, "bytes": len(data)}


def tree(root: Path) -> dict[str, bytes]:
    """The files of a folder that readers can see."""
    files = (path for path in root.rglob("*") if path.is_file() and ".publishing" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
