"""Trees of entries by name: small nodes, split by the hex digits of the key, each named by its content.

The shape follows from the entries alone, so the same entries always make the same tree.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol

from harness.errors import DataError
from harness.site.layout import (
    DEEPEST,
    MAX_LEAF_ENTRIES,
    Branch,
    Entry,
    Leaf,
    Node,
    Ref,
    Subtree,
    decode,
    encode,
    index_path,
    key_of,
)


class IndexStore(Protocol):
    """Where nodes are read from."""

    @property
    def name(self) -> str:
        """What to call the site in messages."""

    def index(self, ref: Ref) -> bytes:
        """The node with this content, checked."""

    def prefetch(self, refs: Sequence[Ref]) -> None:
        """Prepare to read all of these soon."""


@dataclass(frozen=True)
class Tree(Generic[Entry]):
    """Entries of one kind, in the order of their keys; `root` is None if there are none."""

    kind: type[Entry]
    root: Subtree | None

    def find(self, indexes: IndexStore, name: str) -> list[Entry]:
        """The entries with this name; reads one node for each level."""
        key, subtree, depth = key_of(name), self.root, 0
        while subtree is not None:
            node = self.node(indexes, subtree, key[:depth])
            if isinstance(node, Leaf):
                return [entry for entry in node.entries if entry.name == name]
            subtree = node.children.get(key[depth])
            depth += 1
        return []

    def walk(self, indexes: IndexStore) -> Iterator[Entry]:
        for _, node in self.nodes(indexes):
            if isinstance(node, Leaf):
                yield from node.entries

    def nodes(self, indexes: IndexStore) -> Iterator[tuple[Ref, Node[Entry]]]:
        """All nodes, from the root down."""
        waiting = [("", self.root)] if self.root is not None else []
        while waiting:
            prefix, subtree = waiting.pop()
            node = self.node(indexes, subtree, prefix)
            yield subtree.ref, node
            if isinstance(node, Branch):
                indexes.prefetch([child.ref for child in node.children.values()])
                below = sorted(node.children.items(), reverse=True)
                waiting += [(prefix + digit, child) for digit, child in below]

    def node(self, indexes: IndexStore, subtree: Subtree, prefix: str) -> Node[Entry]:
        """A node, checked to hold what belongs in its place: no node fits in two places, so no tree is endless."""
        name = f"{indexes.name}: {index_path(subtree.sha256)}"
        node: Node[Entry] = decode(indexes.index(subtree.ref), Leaf[self.kind] | Branch, name)  # type: ignore[arg-type,name-defined]
        if isinstance(node, Leaf):
            fits = 0 < len(node.entries) == subtree.count
            fits = fits and all(key_of(entry.name).startswith(prefix) for entry in node.entries)
        else:
            fits = len(prefix) < DEEPEST and sum(child.count for child in node.children.values()) == subtree.count
            fits = fits and all(digit in _DIGITS and child.count for digit, child in node.children.items())
        if not fits:
            raise DataError(f"{name}: holds entries that do not belong there; not an index of a site")
        return node


_DIGITS = frozenset("0123456789abcdef")
Write = Callable[[bytes], Ref]


@dataclass(frozen=True)
class TreeUpdate(Generic[Entry]):
    """A change of a tree: `change` returns the new entries for a name, given the old ones.

    Only the nodes on the path to these names are written; the old nodes stay for readers of an older state.
    """

    tree: Tree[Entry]
    indexes: IndexStore
    change: Callable[[str, list[Entry]], list[Entry]]
    write: Write

    def of(self, names: Iterable[str]) -> Tree[Entry]:
        """The tree after the entries with these names have changed."""
        keys = {key_of(name): name for name in names}
        return Tree(self.tree.kind, self._below(self.tree.root, "", keys))

    def _below(self, subtree: Subtree | None, prefix: str, keys: dict[str, str]) -> Subtree | None:
        node = self.tree.node(self.indexes, subtree, prefix) if subtree is not None else Leaf[Entry]([])
        if isinstance(node, Leaf):
            groups: dict[str, list[Entry]] = {}
            for entry in node.entries:
                groups.setdefault(entry.name, []).append(entry)
            for name in keys.values():
                groups[name] = self.change(name, groups.get(name, []))
            return _build_node([entry for name in sorted(groups) for entry in groups[name]], prefix, self.write)
        children = dict(node.children)
        for digit in sorted({key[len(prefix)] for key in keys}):
            below = {key: name for key, name in keys.items() if key[len(prefix)] == digit}
            child = self._below(children.pop(digit, None), prefix + digit, below)
            children |= {digit: child} if child is not None else {}
        return _branch(children, self.write)


def _build_node(entries: list[Entry], prefix: str, write: Write) -> Subtree | None:
    """A leaf of these entries, or a branch if there are too many."""
    if not entries:
        return None
    if len(entries) <= MAX_LEAF_ENTRIES or len(prefix) >= DEEPEST:
        ref = write(encode(Leaf(entries)))
        return Subtree(ref.sha256, ref.bytes, len(entries))
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(key_of(entry.name)[len(prefix)], []).append(entry)
    children = {digit: _build_node(group, prefix + digit, write) for digit, group in groups.items()}
    return _branch({digit: child for digit, child in children.items() if child is not None}, write)


def _branch(children: dict[str, Subtree], write: Write) -> Subtree:
    ref = write(encode(Branch(dict(sorted(children.items())))))
    return Subtree(ref.sha256, ref.bytes, sum(child.count for child in children.values()))


def build_tree(entries: Iterable[Entry], kind: type[Entry], write: Write) -> Tree[Entry]:
    return Tree(kind, _build_node(sorted(entries, key=lambda entry: entry.name), "", write))
