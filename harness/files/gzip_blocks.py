"""Gzip streams, compressed and decompressed block by block."""

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

DECOMPRESSED_BLOCK = 1 << 20
MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS


class BadGzip(Exception):
    """The data is not gzip, is damaged, or ends early."""


def gunzip(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a gzip stream, in blocks of at most 1 MiB, so that the reader can stop a decompression bomb."""
    member, members = None, 0
    for block in blocks:
        data = block
        while data:
            if member is None:
                # Some writers pad with zeros after the last member.
                data = data.lstrip(b"\0") if members else data
                member, members = (zlib.decompressobj(_GZIP), members + 1) if data else (None, members)
                continue
            try:
                content = member.decompress(data, DECOMPRESSED_BLOCK)
            except zlib.error as error:
                raise BadGzip(f"damaged compressed data ({error})") from None
            yield content
            data = member.unused_data if member.eof else member.unconsumed_tail
            member = None if member.eof else member
    if member is not None:
        raise BadGzip("the compressed data ends early")


def gunzip_if_packed(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a gzip stream; anything else as it is."""
    stream = iter(blocks)
    head = b""
    for block in stream:
        head += block
        if len(head) >= len(MAGIC):
            break
    rest = chain([head] if head else [], stream)
    yield from gunzip(rest) if head.startswith(MAGIC) else rest


def zipped(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Bytes, compressed: without name and time, so that the same content compresses to the same bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    yield from map(packer.compress, blocks)
    yield packer.flush()


def in_blocks(lines: Iterable[bytes], block: int) -> Iterator[bytes]:
    """Lines, many at a time: blocks of about so many bytes."""
    waiting, size = list[bytes](), 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= block:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)
