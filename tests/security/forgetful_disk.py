"""A disk that forgets: what the writer of a transcript did, and what may be left of it after a power cut."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Disk:
    """The files of one folder: what programs see, and what is certain to be on disk."""

    seen: dict[int, bytes] = field(default_factory=dict)
    kept: dict[int, bytes] = field(default_factory=dict)
    seen_names: dict[str, int] = field(default_factory=dict)
    kept_names: dict[str, int] = field(default_factory=dict)

    def apply(self, act: str, *what: Any) -> None:
        getattr(self, f"_{act}")(*what)

    def _create(self, name: str, inode: int) -> None:
        self.seen_names[name] = inode
        self.seen[inode] = self.kept[inode] = b""

    def _write(self, inode: int, data: bytes) -> None:
        self.seen[inode] += data  # every file is written at its end

    def _truncate(self, inode: int, size: int) -> None:
        self.seen[inode] = self.seen[inode][:size]

    def _sync(self, inode: int) -> None:
        self.kept[inode] = self.seen[inode]

    def _sync_names(self) -> None:
        self.kept_names = dict(self.seen_names)

    def _rename(self, old: str, new: str) -> None:
        self.seen_names[new] = self.seen_names.pop(old)

    def _remove(self, name: str) -> None:
        del self.seen_names[name]

    def remains(self) -> Iterator[tuple[str, dict[str, bytes]]]:
        """What may be left, by a name for messages: names and contents reach the disk in any order, or in part."""
        for names in ("seen_names", "kept_names"):
            for content in ("nothing", "zeros", "half", "all"):
                files = {name: self._content(inode, content) for name, inode in getattr(self, names).items()}
                yield f"{names}, {content} of what was not synced", files

    def _content(self, inode: int, content: str) -> bytes:
        kept, seen = self.kept[inode], self.seen[inode]
        if not seen.startswith(kept):  # cut after the last sync
            return kept if content in ("nothing", "zeros") else seen
        rest = seen[len(kept) :]
        return kept + {"nothing": b"", "zeros": bytes(len(rest)), "half": rest[: len(rest) // 2], "all": rest}[content]


class Recorder:
    """Notes what is done to the files of a folder through `os`, while it is done."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.acts: list[tuple[Any, ...]] = []
        self._folder = folder
        self._inodes: dict[int, int] = {}
        self._folders: set[int] = set()
        for name in ("open", "write", "ftruncate", "fsync", "close", "replace", "unlink"):
            monkeypatch.setattr(os, name, self._wrapped(getattr(os, name), getattr(self, f"_{name}")))

    def _wrapped(self, real: Any, note: Any) -> Any:
        def opened(path: Any, *args: Any, **more: Any) -> int:
            existed = self._ours(path) and Path(path).exists()
            fd: int = real(path, *args, **more)
            note(fd, existed, path, *args)
            return fd

        def called(*args: Any, **more: Any) -> Any:
            result = real(*args, **more)
            note(result, *args)
            return result

        return opened if note == self._open else called

    def _ours(self, path: Any) -> bool:
        return isinstance(path, (str, Path)) and Path(path).parent == self._folder

    def _open(self, fd: int, existed: bool, path: Any, flags: int, *_: Any) -> None:
        if Path(path) == self._folder:
            self._folders.add(fd)
        elif self._ours(path):
            inode = os.fstat(fd).st_ino
            if not existed:
                self.acts.append(("create", Path(path).name, inode))
            elif flags & os.O_TRUNC:
                self.acts.append(("truncate", inode, 0))
            self._inodes[fd] = inode

    def _write(self, count: int, fd: int, data: Any) -> None:
        if fd in self._inodes:
            self.acts.append(("write", self._inodes[fd], bytes(data)[:count]))

    def _ftruncate(self, _: None, fd: int, size: int) -> None:
        if fd in self._inodes:
            self.acts.append(("truncate", self._inodes[fd], size))

    def _fsync(self, _: None, fd: int) -> None:
        if fd in self._inodes:
            self.acts.append(("sync", self._inodes[fd]))
        elif fd in self._folders:
            self.acts.append(("sync_names",))

    def _close(self, _: None, fd: int) -> None:
        self._inodes.pop(fd, None)
        self._folders.discard(fd)

    def _replace(self, _: None, old: Any, new: Any) -> None:
        if self._ours(old):
            self.acts.append(("rename", Path(old).name, Path(new).name))

    def _unlink(self, _: None, path: Any, *__: Any, **___: Any) -> None:
        if self._ours(path):
            self.acts.append(("remove", Path(path).name))
