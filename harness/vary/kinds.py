"""The kinds of effects: what their values are. Light, because scripts are listed and checked without numpy."""

from collections.abc import Mapping
from dataclasses import dataclass

# Part of a test's identity: it must change whenever an effect gives other pixels.
EFFECTS_VERSION = 1


@dataclass(frozen=True)
class EffectKind:
    """A kind of variation: what its values are, and which of them leaves an image as it is."""

    words: str
    low: float
    high: float
    neutral: float = 0
    whole: bool = False
    # Whether the objects in the picture move, so that a truth about places must move too.
    moves: bool = False
    # Whether it draws random numbers.
    draws: bool = False

    def mistake(self, value: object) -> str | None:
        """What is wrong with a value, if anything."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
            return f"{value!r:.40} is not a number"
        if not self.low <= value <= self.high:
            return f"{value!r:.40} is not from {self.low:g} to {self.high:g}"
        return f"{value!r} is not a whole number" if self.whole and value != int(value) else None


# What an effect does is the function of the same name in `effects`.
KINDS: Mapping[str, EffectKind] = {
    "gaussian": EffectKind("normal noise, by its standard deviation in grey levels of 255", 0, 255, draws=True),
    "salt_and_pepper": EffectKind("the share of pixels that turn black or white", 0, 1, draws=True),
    "blur": EffectKind("a Gaussian blur, by its standard deviation in pixels", 0, 100),
    "contrast": EffectKind("a factor of the distance from the mean grey level", 0, 100, neutral=1),
    "brightness": EffectKind("what is added to every pixel, in grey levels of 255", -255, 255),
    "rotate": EffectKind("degrees, anticlockwise", -360, 360, moves=True),
    "occlude": EffectKind("the share of the picture that a grey rectangle hides", 0, 1, draws=True),
    "jpeg": EffectKind("the quality of JPEG compression; 100 for none", 1, 100, neutral=100, whole=True),
    "downsample": EffectKind("how many times smaller", 1, 64, neutral=1, whole=True, moves=True),
}
