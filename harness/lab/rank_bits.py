"""Ranks for many choices of gallery from one matrix, as bits.

The score of a probe with its own gallery image is compared with all columns once: one bit for each column that scores
at least as well. A gallery of one column per person is a bit mask, and a rank is the number of bits in both. A
repetition of the experiment then reads 64 comparisons per word instead of making them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import IntArray

WordArray = npt.NDArray[np.uint64]
Scores = npt.NDArray[np.floating[Any]]
CountArray = npt.NDArray[np.uint32]
# Comparisons packed at a time.
_BLOCK = 1 << 22
_WORD = 64


@dataclass(frozen=True, slots=True, eq=False)
class RankBits:
    """For each pair of a probe and its right gallery image, the columns that score at least as well, in every matrix.

    `bits` has the shape (words, pairs, matrices); `bit_of_column` is the bit of each column of the matrix.
    """

    bits: WordArray
    bit_of_column: IntArray

    def ranks(self, pairs: IntArray, gallery: IntArray) -> CountArray:
        """Ranks (experiments, people, matrices) of pairs (experiments, people) in galleries (experiments, columns).

        A gallery must hold the pair's own column, and no other image of the same person.
        """
        chosen = np.zeros((len(gallery), self.bits.shape[0] * _WORD), dtype=np.bool_)
        chosen[np.arange(len(gallery))[:, None], self.bit_of_column[gallery]] = True
        mask = _packed(chosen)
        rank = np.zeros((*pairs.shape, self.bits.shape[2]), dtype=np.uint32)
        for word, part in enumerate(self.bits):
            rank += _bit_count(part[pairs] & mask[:, word, None, None])
        return rank


def rank_bits(
    matrices: Sequence[Scores],
    rows: IntArray,
    columns: IntArray,
    *,
    larger_is_better: Sequence[bool],
) -> RankBits:
    """Compare the score of each pair (row, column) with all columns that occur in any pair."""
    used = np.unique(columns)
    bit_of_column = np.full(matrices[0].shape[1], -1, dtype=np.intp)
    bit_of_column[used] = np.arange(used.size)
    words = -(-used.size // _WORD)
    bits = np.empty((words, rows.size, len(matrices)), dtype=np.uint64)
    step = max(1, _BLOCK // (words * _WORD))
    for number, (matrix, larger) in enumerate(zip(matrices, larger_is_better, strict=True)):
        for start in range(0, rows.size, step):
            at = slice(start, start + step)
            part = matrix[rows[at]]
            genuine, others = part[np.arange(len(part)), columns[at], None], part[:, used]
            if np.isnan(others).any():
                raise ValueError(f"matrix {number}: a score is not a number; give the worst score instead")
            as_good = np.zeros((len(part), words * _WORD), dtype=np.bool_)
            as_good[:, : used.size] = others >= genuine if larger else others <= genuine
            bits[:, at, number] = _packed(as_good).T
    return RankBits(bits, bit_of_column)


def _packed(flags: npt.NDArray[np.bool_]) -> WordArray:
    return np.packbits(flags, axis=1).view(np.uint64)


def _bit_count(words: WordArray) -> npt.NDArray[np.uint8]:
    """Number of ones in each word; numpy 2 and later can count them."""
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(words))
    return np.asarray(_TABLE[words.view(np.uint16)].reshape(*words.shape, 4).sum(axis=-1, dtype=np.uint8))


_TABLE = np.unpackbits(np.arange(1 << 16, dtype=">u2").view(np.uint8).reshape(-1, 2), axis=1).sum(
    axis=1, dtype=np.uint8
)
