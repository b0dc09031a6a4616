"""The entry of [vary], and its option."""

from harness.options.declaration import OptionSet, option
from harness.options.entries import SectionEntry

# The folder of made images in the cache.
MADE = "varied"


class VaryOptions(OptionSet):
    """Whether inputs are varied."""

    no_vary: bool = option(
        "--no-vary", "Only the originals of a test that varies its inputs on purpose.", default=False
    )


VARY = SectionEntry(
    name="vary", where="harness.vary.variation:Variation", options=VaryOptions, made=MADE, holds="varied images"
)
