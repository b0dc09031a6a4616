"""The gallery effect: do sets of images, each taken as the gallery, give different recognition rates.

After "Efficient Evaluation of Classification and Recognition Systems" (2001), section 5. Every person has one image in
each of q sets; each set is the gallery once, the others are the probes. If the labels of a person's images mean
nothing, they can be exchanged within the person: how far the sets' rates then lie apart is what chance does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.rank_bits import IntArray, RankBits, Scores, rank_bits

FloatArray = npt.NDArray[np.float64]

__all__ = ["GalleryEffect", "gallery_effect", "mixed"]

_BLOCK = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class GalleryEffect:
    """Rates (sets, ranks); by rank, how far the best is above the worst, and how often chance parts them as far.

    `p_pairs` (sets, sets, ranks): how often the farthest two are as far apart as these two, which allows for all pairs.
    """

    rates: FloatArray
    p_values: FloatArray
    p_pairs: FloatArray

    @property
    def ranges(self) -> FloatArray:
        """Best less worst, by rank."""
        return np.asarray(np.ptp(self.rates, axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class _Square:
    """People and their images: every image may be the probe, and every other one the gallery image."""

    bits: RankBits
    columns: IntArray
    ranks: int

    def rates(self, images: IntArray) -> FloatArray:
        """Rates (experiments, sets, ranks), where set s of person i holds image images[e, i, s]."""
        experiments, people, sets = images.shape
        person = np.arange(people)
        found = np.zeros((experiments, sets, self.ranks))
        for gallery in range(sets):
            enrolled = images[:, :, gallery]
            for probe in (other for other in range(sets) if other != gallery):
                pairs = (person * sets + images[:, :, probe]) * sets + enrolled
                rank = self.bits.ranks(pairs, self.columns[person, enrolled])[:, :, 0]
                found[:, gallery] += (rank[:, :, None] <= np.arange(1, self.ranks + 1)).sum(axis=1)
        return np.asarray(found / (people * (sets - 1)))


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
    own = np.repeat(columns, sets, axis=0).reshape(-1)
    square = _Square(rank_bits([matrix], probes, own, larger_is_better=[larger_is_better]), columns, ranks)
    rates = square.rates(np.broadcast_to(np.arange(sets), (1, people, sets)))[0]
    apart = abs(rates[:, None] - rates[None])
    as_far, pair_as_far = np.ones(ranks), np.ones((sets, sets, ranks))
    step = max(1, _BLOCK // (people * ranks))
    for start in range(0, permutations, step):
        size = min(step, permutations - start)
        drawn = square.rates(np.argsort(rng.random((size, people, sets)), axis=2))
        widest = np.ptp(drawn, axis=1)
        # Rates are counts over one number: equal ones differ by rounding alone.
        as_far += (widest >= np.ptp(rates, axis=0) - 1e-9).sum(axis=0)
        pair_as_far += (widest[:, None, None] >= apart - 1e-9).sum(axis=0)
    return GalleryEffect(rates, as_far / (permutations + 1), pair_as_far / (permutations + 1))


def mixed(places: IntArray) -> IntArray:
    """The images (people, sets) with labels turned on by one from person to person.

    Each set then holds as many images of every original set as of any other, give or take one.
    """
    people, sets = places.shape
    turned = (np.arange(sets) - np.arange(people)[:, None]) % sets
    return np.asarray(np.take_along_axis(places, turned, axis=1))
