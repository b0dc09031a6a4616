"""Whether recognition rates differ between galleries, by exchanging each person's images: section 5 of the paper.

Every person has one image in each of q sets; each set is the gallery once, the others are the probes. If it does not
matter which set an image is in, a person's images can be exchanged between sets: the spread of the sets' rates under
such exchanges is what chance alone produces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.lab.rank_bits import RankBits, Scores, rank_bits
from harness.stats.arrays import FloatArray, IntArray

# Ranks computed at a time, few enough to fit in a processor's cache.
_BLOCK = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class GalleryEffect:
    """Rates (sets, ranks), and by rank how often chance puts the best and the worst set as far apart.

    `p_pairs` (sets, sets, ranks): how often chance puts any two sets as far apart as these two, which corrects for the
    number of pairs.
    """

    rates: FloatArray
    p_values: FloatArray
    p_pairs: FloatArray

    @property
    def ranges(self) -> FloatArray:
        """Best minus worst rate, by rank."""
        return np.asarray(np.ptp(self.rates, axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class _ImageSets:
    """People and their images: every image may be the probe, with any other of that person in the gallery."""

    bits: RankBits
    columns: IntArray
    ranks: int

    def rates(self, images: IntArray) -> FloatArray:
        """Rates (experiments, sets, ranks), where set s of person i holds image images[e, i, s]."""
        experiments, people, sets = images.shape
        person = np.arange(people)
        counts = np.zeros((experiments, sets, self.ranks))
        for gallery in range(sets):
            enrolled = images[:, :, gallery]
            for probe in (other for other in range(sets) if other != gallery):
                pairs = (person * sets + images[:, :, probe]) * sets + enrolled
                rank = self.bits.ranks(pairs, self.columns[person, enrolled])[:, :, 0]
                counts[:, gallery] += (rank[:, :, None] <= np.arange(1, self.ranks + 1)).sum(axis=1)
        return np.asarray(counts / (people * (sets - 1)))


def gallery_effect(
    matrix: Scores,
    rows: IntArray,
    columns: IntArray,
    *,
    rng: np.random.Generator,
    larger_is_better: bool = True,
    ranks: int = 10,
    permutations: int = 999,
) -> GalleryEffect:
    """Test whether galleries differ; `rows` and `columns` (people, sets) say where each image is in the matrix."""
    people, sets = rows.shape
    if sets < 2 or people < 2 or rows.shape != columns.shape:
        raise ValueError(f"{people} people with {sets} images: expected two or more of each")
    probes = np.repeat(rows.reshape(-1), sets)
    enrolled = np.repeat(columns, sets, axis=0).reshape(-1)
    image_sets = _ImageSets(rank_bits([matrix], probes, enrolled, larger_is_better=[larger_is_better]), columns, ranks)
    rates = image_sets.rates(np.broadcast_to(np.arange(sets), (1, people, sets)))[0]
    apart = abs(rates[:, None] - rates[None])
    as_far, pair_as_far = np.ones(ranks), np.ones((sets, sets, ranks))
    step = max(1, _BLOCK // (people * ranks))
    for start in range(0, permutations, step):
        size = min(step, permutations - start)
        exchanged = image_sets.rates(np.argsort(rng.random((size, people, sets)), axis=2))
        widest = np.ptp(exchanged, axis=1)
        # All rates have one denominator: equal ones differ by rounding only.
        as_far += (widest >= np.ptp(rates, axis=0) - 1e-9).sum(axis=0)
        pair_as_far += (widest[:, None, None] >= apart - 1e-9).sum(axis=0)
    return GalleryEffect(rates, as_far / (permutations + 1), pair_as_far / (permutations + 1))


def mixed(images: IntArray) -> IntArray:
    """The images (people, sets) with the set labels rotated by one from person to person.

    Each set then holds equally many images of every original set, give or take one.
    """
    people, sets = images.shape
    rotated = (np.arange(sets) - np.arange(people)[:, None]) % sets
    return np.asarray(np.take_along_axis(images, rotated, axis=1))
