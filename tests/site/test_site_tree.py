"""Trees of entries: equal to a dictionary, with small nodes at any size; hostile nodes are refused."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError
from harness.site import layout
from harness.site import tree as trees
from harness.site.changes import version_key
from harness.site.layout import (
    DEEPEST,
    MAX_LEAF_ENTRIES,
    Branch,
    Leaf,
    NameEntry,
    Ref,
    Subtree,
    Top,
    TranscriptEntry,
    encode,
    key_of,
    ref_of,
)
from harness.site.tree import Tree, TreeUpdate, build_tree

NAMES = st.text("abcdefgh0123456789", min_size=1, max_size=6)


@dataclass
class Memory:
    """Nodes in memory, and how many were read."""

    name: str = "memory"
    nodes: dict[Ref, bytes] = field(default_factory=dict)
    asked: int = 0

    def index(self, ref: Ref) -> bytes:
        self.asked += 1
        return self.nodes[ref]

    def prefetch(self, refs: Sequence[Ref]) -> None:
        """Nothing to do."""

    def write(self, data: bytes) -> Ref:
        ref = ref_of(data)
        self.nodes[ref] = data
        return ref


def entry(name: str, count: int = 1) -> NameEntry:
    return NameEntry(name, count, ["t"])


def setting(change: dict[str, int]) -> Callable[[str, list[NameEntry]], list[NameEntry]]:
    return lambda name, _: [entry(name, change[name])]


@given(st.lists(st.dictionaries(NAMES, st.integers(1, 9), max_size=30), max_size=5))
def test_a_tree_is_a_dictionary(changes: list[dict[str, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "MAX_LEAF_ENTRIES", 3)
        memory, tree, expected = Memory(), Tree(NameEntry, None), dict[str, int]()
        for change in changes:
            tree = TreeUpdate(tree, memory, setting(change), memory.write).of(change)
            expected |= change
        assert {leaf.name: leaf.count for leaf in tree.walk(memory)} == expected
        assert all(tree.find(memory, name) == [entry(name, count)] for name, count in expected.items())
        assert tree.find(memory, "absent-") == []
        # The shape follows from the entries alone.
        assert tree == build_tree([entry(name, count) for name, count in expected.items()], NameEntry, memory.write)


@pytest.mark.slow
def test_no_file_is_large_at_full_size() -> None:
    """All nodes for 100,000 tests. docs/reference/sites.md has the cost of each request."""
    memory = Memory()
    sha256 = "0" * 64
    tests = (
        layout.TestEntry(f"test-{n:06d}", "1.0.0", "s" * 80, "label", 1434, f"1:{sha256}", 3, 100, Ref(sha256, 5000))
        for n in range(100_000)
    )
    tree = build_tree(tests, layout.TestEntry, memory.write)
    assert tree.root is not None
    assert tree.root.count == 100_000
    assert max(map(len, memory.nodes.values())) < 250_000
    top = encode(Top("site", 1, 10_000_000, tests=tree.root, names=tree.root))
    assert len(top) < 1000
    memory.asked = 0
    assert tree.find(memory, "test-054321")[0].name == "test-054321"
    assert memory.asked == 3
    before = set(memory.nodes)
    change = TreeUpdate(tree, memory, lambda _, old: old, memory.write)
    new = layout.TestEntry("new", "2", "", "label", 1, f"1:{sha256}", 1, 0, Ref(sha256, 1))
    other = TreeUpdate(tree, memory, lambda _, old: [new], memory.write)
    assert change.of(["test-054321"]) == tree
    assert other.of(["new"]).root != tree.root
    assert len(set(memory.nodes) - before) == 3


def test_the_leaf_of_ten_million_transcripts_is_small() -> None:
    """One shard at that size: of 10,000,000 names, those whose keys begin with four given digits."""
    names = (f"run-{n}" for n in range(10_000_000 // 16**4 * 300))
    shard = [name for name in names if key_of(name).startswith("ab")][: 10_000_000 // 16**4]
    entries = [
        TranscriptEntry(name, "1.0.0", f"1:{'0' * 64}", name, "1", 1434, 700, 700, 17, 17, 0, "2026-11-16T01:00:00Z",
                        Ref("0" * 64, 240_000))
        for name in shard
    ]  # fmt: skip
    assert len(entries) == 152 <= MAX_LEAF_ENTRIES
    assert len(encode(Leaf(entries))) < 80_000


def hostile(node: Any, count: int = 1) -> Tree[NameEntry]:
    data = node if isinstance(node, bytes) else encode(node)
    ref = MEMORY.write(data)
    return Tree(NameEntry, Subtree(ref.sha256, ref.bytes, count))


MEMORY = Memory()
SOME = Subtree(hashlib.sha256(b"").hexdigest(), 0, 1)


@pytest.mark.parametrize("tree", [
    hostile(b""),
    hostile(b"\xff\xfe"),
    hostile(b"[" * 100_000),
    hostile(b'{"node":"branch","children":' + b'{"0":' * 50_000),
    hostile(b'{"node":"twig","entries":[]}'),
    hostile(b'{"node":"leaf","entries":[{"name":"../x","count":1,"tests":["t"]}]}'),
    hostile(b'{"node":"leaf","entries":[{"name":"x","count":1e400,"tests":["t"]}]}'),
    hostile(b'{"node":"leaf","entries":[{"name":"x","count":99999999999999999999999,"tests":["t"]}]}'),
    hostile(b'{"node":"leaf","entries":[{"name":"x","count":-1,"tests":["t"]}]}'),
    hostile(b'{"node":"leaf","entries":{"name":"x"}}'),
    hostile(Leaf([]), 0),
    hostile(Leaf([entry("a")]), 2),
    hostile(Branch({}), 1),
    hostile(Branch({"g": SOME}), 1),
    hostile(Branch({"00": SOME}), 1),
    hostile(Branch({"0": SOME}), 7),
], ids=str)  # fmt: skip
def test_hostile_nodes_are_refused(tree: Tree[NameEntry]) -> None:
    with pytest.raises(DataError, match=r"^memory: index/.*not an index of a site"):
        list(tree.walk(MEMORY))


def test_a_cyclic_tree_ends() -> None:
    """Sixteen times the same child, sixteen levels deep, would be 10^19 entries."""
    ref = MEMORY.write(encode(Leaf([entry("a")])))
    subtree = Subtree(ref.sha256, ref.bytes, 1)
    for _ in range(DEEPEST + 4):
        node = encode(Branch(dict.fromkeys("0123456789abcdef", subtree)))
        ref = MEMORY.write(node)
        subtree = Subtree(ref.sha256, ref.bytes, min(subtree.count * 16, 1 << 50))
    MEMORY.asked = 0
    with pytest.raises(DataError, match="do not belong there"):
        list(Tree(NameEntry, subtree).walk(MEMORY))
    assert MEMORY.asked < 100


def test_versions_have_an_order() -> None:
    order = ["0.9", "1.0-alpha1", "1.0-rc1", "1.0", "1.0.post1", "1.0.1", "1.2", "1.10", "2", "10"]
    assert all(version_key(a) < version_key(b) for a, b in pairwise(order))
    assert version_key("1.0") != version_key("1-0")
