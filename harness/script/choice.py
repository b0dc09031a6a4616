"""A virtual experiment: a part of a gallery, and a part of the probes, out of one test."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from harness.errors import UsageError
from harness.model import Case
from harness.tasks.gallery import Gallery

Keep = Callable[[Case], bool]


@dataclass(frozen=True)
class Wish:
    """Conditions as they were written, and whether a case meets them."""

    words: Sequence[str]
    keeps: Keep = field(repr=False)


@dataclass(frozen=True)
class Choice:
    """Which probes are asked, and which gallery they are compared with.

    A probe of nobody in that gallery is a negative case in an open-set test, and otherwise left out.
    """

    gallery_wish: Wish
    probe_wish: Wish
    gallery: Gallery
    open_set: bool
    # How many of the probes wished for are of nobody in the gallery, in a test that has no place for them.
    left_out: int = 0

    @property
    def words(self) -> dict[str, str]:
        """What was chosen, by the names of the options."""
        named = {"--gallery": self.gallery_wish.words, "--probe": self.probe_wish.words}
        return {name: "\n".join(words) for name, words in named.items() if words}

    def of(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The chosen ones."""
        for case in cases:
            if not self.probe_wish.keeps(case):
                continue
            if not case.positive or self.gallery.own(case) >= 0:
                yield case
            elif self.open_set:
                yield replace(case, positive=False, truth=case.real_class)


def chosen_gallery(gallery: Gallery, wish: Wish) -> Gallery:
    """The part of a gallery that is wished for."""
    found = Gallery(entry for entry in gallery.entries if wish.keeps(entry))
    if not found.entries:
        raise UsageError(f"--gallery {' '.join(wish.words)}: no image of the gallery is so")
    return found
