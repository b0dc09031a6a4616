"""The root of a site's trust: a key that is kept offline says which keys may sign indexes.

A few of the rules of The Update Framework (theupdateframework.io): a root document lists the keys for indexes and has a
number that only grows; the next one is signed by the root key of the one before, so that readers can follow from the
one that they know; a key that is no longer listed counts for nothing. Root documents are files of the site, named by
their content, and the top index names the latest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from harness.errors import DataError, UsageError
from harness.site.layout import FORMAT, Ref, Words, decode, encode, ref_of
from harness.site.signing import Signer, check_signature, is_key

# A chain of root documents that is longer is hostile.
MAX_ROOTS = 1000


class RootDocument(Struct, frozen=True):
    """Which keys may sign the indexes of a site, and which key says so."""

    hate: str
    format: int
    # Grows by one with every change.
    version: Annotated[int, Meta(ge=1, le=MAX_ROOTS)]
    # The root key: it signs the next document; the first one signs itself.
    root: Words
    keys: Annotated[list[Words], Meta(min_length=1, max_length=100)]
    # Keys that were listed once and must not be trusted any more.
    revoked: Annotated[list[Words], Meta(max_length=1000)] = []
    previous: Ref | None = None


class SignedFiles(Protocol):
    """The files of a site that trust is made of."""

    def index(self, ref: Ref) -> bytes:
        """An index or root document, checked."""

    def signature(self, sha256: str) -> bytes | None:
        """The signature of the file with this SHA-256; None if there is none."""


@dataclass(frozen=True)
class RootChain:
    """Root documents, the first one first; each is signed by the root key of the one before."""

    documents: Sequence[RootDocument]
    refs: Sequence[Ref]

    @property
    def latest(self) -> RootDocument:
        return self.documents[-1]

    @property
    def roots(self) -> set[str]:
        """All root keys, past and present."""
        return {document.root for document in self.documents}

    def holds(self, version: int, sha256: str) -> bool:
        """Whether a document that was seen earlier is part of this chain."""
        return version <= len(self.refs) and self.refs[version - 1].sha256 == sha256


def read_chain(latest: Ref, files: SignedFiles, name: str) -> RootChain:
    """All root documents of a site, every signature checked; a DataError if one is missing or wrong."""
    signed: list[tuple[RootDocument, Ref, bytes]] = []
    ref: Ref | None = latest
    while ref is not None:
        data = files.index(ref)
        document = decode(data, RootDocument, f"{name}: root document")
        if document.hate != "root" or document.format != FORMAT or len(signed) >= MAX_ROOTS:
            raise DataError(f"{name}: not a root document of format {FORMAT}; refused")
        signed.append((document, ref, data))
        ref = document.previous
    signed.reverse()
    for number, (document, ref, data) in enumerate(signed, 1):
        if document.version != number:
            raise DataError(f"{name}: root document {document.version} in place {number} of its chain; refused")
        signer = signed[max(0, number - 2)][0].root
        check_signature(data, files.signature(ref.sha256), signer, f"{name}: root document {number}")
    return RootChain([document for document, _, _ in signed], [ref for _, ref, _ in signed])


@dataclass(frozen=True)
class RootChange:
    """What the owner wants: the keys from now on, by the authority of the root key."""

    signer: Signer
    allow: Sequence[str] = ()
    revoke: Sequence[str] = ()
    # Another root key, from the next change on.
    hand_over: str = ""


@dataclass(frozen=True)
class SignedRoot:
    """A new root document, and its signature."""

    ref: Ref
    data: bytes
    signature: bytes
    document: RootDocument


def next_root(chain: RootChain | None, change: RootChange) -> SignedRoot:
    """The next root document; a UsageError if the root key is not the site's, or no key would be left."""
    wrong = [key for key in (*change.allow, *change.revoke, change.hand_over) if key and not is_key(key)]
    if wrong:
        raise UsageError(f"'{wrong[0]:.80}' is not a public key; a key is ed25519: and 32 bytes in base64")
    old = None if chain is None else chain.latest
    if old is not None and change.signer.key != old.root:
        raise UsageError(f"the site's root key is {old.root}, not {change.signer.key}; give it with --root-key")
    before = [] if old is None else old.keys
    keys = [key for key in dict.fromkeys([*before, *change.allow]) if key not in change.revoke]
    if not keys:
        raise UsageError("no key would be left to sign indexes; name one with --allow")
    if change.signer.key in keys:
        raise UsageError("the root key signs no indexes, so that it can be kept offline; --allow another key")
    revoked = [] if old is None else [key for key in old.revoked if key not in keys]
    document = RootDocument(
        "root",
        FORMAT,
        1 if old is None else old.version + 1,
        change.hand_over or change.signer.key,
        keys,
        list(dict.fromkeys([*revoked, *change.revoke])),
        None if chain is None else chain.refs[-1],
    )
    data = encode(document)
    return SignedRoot(ref_of(data), data, change.signer.sign(data), document)
