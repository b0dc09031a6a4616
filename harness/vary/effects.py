"""What [vary] does to an image: noise, blur, contrast, brightness, rotation, occlusion, JPEG, fewer pixels.

An image is an array of whole numbers, (height, width) or (height, width, channels), from 0 to `top`. Every effect gives
the same pixels on every machine: random numbers are the raw bits of a counter-based generator, and sums are of whole
numbers, which floats hold exactly in any order. Nothing depends on how a library rounds a sine or a logarithm.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from statistics import NormalDist

import numpy as np

from harness.vary.movement import FloatPixels, Pixels, block_means, rotated

# The quantisation tables of Annex K of the standard (ITU-T T.81), which most programs scale by quality.
_LUMINANCE = (
    "16 11 10 16 24 40 51 61 12 12 14 19 26 58 60 55 14 13 16 24 40 57 69 56 14 17 22 29 51 87 80 62 "
    "18 22 37 56 68 109 103 77 24 35 55 64 81 104 113 92 49 64 78 87 103 121 120 101 72 92 95 98 112 100 103 99"
)
_CHROMINANCE = "17 18 24 47 99 99 99 99 18 21 26 66 99 99 99 99 24 26 56 99 99 99 99 99 47 66 " + " ".join(["99"] * 38)
_COSINES = np.array(
    [
        [round(8192 * math.sqrt((2 if u else 1) / 8) * math.cos((2 * x + 1) * u * math.pi / 16)) for x in range(8)]
        for u in range(8)
    ],
    dtype=np.float64,
)


def compressed(image: Pixels, top: int, value: float) -> FloatPixels:
    """The image as baseline JPEG of this quality keeps it; colours at half the resolution, as most programs do it."""
    levels = np.rint(image * (LEVELS / top))
    if image.ndim == 2 or image.shape[2] == 1:
        plane = _quantised(levels.reshape(image.shape[:2]), _table(_LUMINANCE, value)).reshape(image.shape)
    else:
        plane = _jpeg_colours(levels, value)
    return np.rint(plane * (top / LEVELS))


def _jpeg_colours(levels: FloatPixels, quality: float) -> FloatPixels:
    """Luminance and colour differences with the weights of JFIF, as whole numbers."""
    red, green, blue = (levels[..., channel] for channel in range(3))
    light = np.floor((19595 * red + 38470 * green + 7471 * blue + 32768) / 65536)
    differences = [
        np.floor((32768 * blue - 11059 * red - 21709 * green + 32767) / 65536) + 128,
        np.floor((32768 * red - 27439 * green - 5329 * blue + 32767) / 65536) + 128,
    ]
    light = _quantised(light, _table(_LUMINANCE, quality))
    blueness, redness = (_quantised_at_half(plane, _table(_CHROMINANCE, quality)) - 128 for plane in differences)
    colours = [
        light + np.rint(91881 * redness / 65536),
        light - np.rint((22554 * blueness + 46802 * redness) / 65536),
        light + np.rint(116130 * blueness / 65536),
    ]
    return np.stack([np.clip(colour, 0, LEVELS) for colour in colours], axis=-1)


def _table(text: str, quality: float) -> FloatPixels:
    """The table scaled as the Independent JPEG Group's library does it: 50 leaves it as it is."""
    percent = 5000 // int(quality) if quality < 50 else 200 - 2 * int(quality)
    scaled = [min(max((int(entry) * percent + 50) // 100, 1), 255) for entry in text.split()]
    return np.array(scaled, dtype=np.float64).reshape(8, 8)


def _quantised(plane: FloatPixels, table: FloatPixels) -> FloatPixels:
    """Squares of eight by eight through the cosine transform and back, with rounded coefficients."""
    height, width = plane.shape
    padded = np.pad(plane, [(0, -height % 8), (0, -width % 8)], mode="edge") - 128
    blocks = padded.reshape(padded.shape[0] // 8, 8, -1, 8).swapaxes(1, 2)
    # All sums are of whole numbers below 2**53: exact, in whatever order they are added.
    coefficients = np.rint(_COSINES @ blocks @ _COSINES.T / (table * 2.0**26)) * table
    back = np.rint(_COSINES.T @ coefficients @ _COSINES / 2.0**26) + 128
    joined = back.swapaxes(1, 2).reshape(padded.shape)[:height, :width]
    return np.asarray(np.clip(joined, 0, LEVELS))


def _quantised_at_half(plane: FloatPixels, table: FloatPixels) -> FloatPixels:
    height, width = plane.shape
    half = _quantised(block_means(plane, 2).astype(np.float64), table)
    return np.floor((_doubled(_doubled(half).T).T + 8) / 16)[:height, :width]


def _doubled(plane: FloatPixels) -> FloatPixels:
    """Twice as many rows, each four times three quarters of the nearest row and a quarter of the next."""
    padded = np.pad(plane, [(1, 1), (0, 0)], mode="edge")
    both = np.stack([3 * plane + padded[:-2], 3 * plane + padded[2:]], axis=1)
    return both.reshape(-1, plane.shape[1])


# The full range of grey levels, in which noise and brightness are given.
LEVELS = 255

# An image, its largest value, how much, and where random numbers come from.
Effect = Callable[[Pixels, int, float, np.random.Philox], Pixels]
_EFFECTS: dict[str, Effect] = {}


def effect(function: Effect) -> Effect:
    """What the kind of this name does; `KINDS` of `variation` has its values."""
    _EFFECTS[function.__name__] = function
    return function


def apply_effect(kind: str, image: Pixels, top: int, value: float, stream: np.random.Philox) -> Pixels:
    """The image with one effect; `stream` is where its random numbers come from."""
    return _EFFECTS[kind](image, top, value, stream).astype(image.dtype)


def random_stream(words: bytes) -> np.random.Philox:
    """Random bits that depend on 16 bytes alone; numpy promises them for every version, unlike its distributions."""
    return np.random.Philox(key=int.from_bytes(words[:16], "big"))


def _rounded(values: FloatPixels, top: int) -> FloatPixels:
    return np.clip(np.rint(values), 0, top)


@cache
def _normal_quantiles() -> FloatPixels:
    """65,536 quantiles of the normal distribution, rounded so far that no machine's logarithm can matter."""
    half = [round(NormalDist().inv_cdf((n + 0.5) / 65536) * 2**20) / 2**20 for n in range(32768, 65536)]
    return np.array([-z for z in reversed(half)] + half)


@effect
def gaussian(image: Pixels, top: int, value: float, stream: np.random.Philox) -> FloatPixels:
    """Normal noise by the inverse of its distribution, 16 bits a number; its largest value is 4.3 sigma."""
    raw = np.asarray(stream.random_raw(-(-image.size // 4)), dtype="<u8").view("<u2")[: image.size]
    noise = _normal_quantiles()[raw].reshape(image.shape)
    return _rounded(image + noise * (value * top / LEVELS), top)


@effect
def salt_and_pepper(image: Pixels, top: int, value: float, stream: np.random.Philox) -> Pixels:
    """The pixels with the smallest random numbers: those of a smaller share are among those of a larger one."""
    raw = np.asarray(stream.random_raw(image.shape[0] * image.shape[1])).reshape(image.shape[:2])
    hit = (raw >> np.uint64(32)) < round(value * 2**32)
    varied = image.copy()
    varied[hit & (raw & np.uint64(1) == 0)] = 0
    varied[hit & (raw & np.uint64(1) == 1)] = top
    return varied


@effect
def occlude(image: Pixels, top: int, value: float, stream: np.random.Philox) -> Pixels:
    """A rectangle of middle grey with the proportions of the picture, anywhere in it."""
    height, width = (min(round(side * math.sqrt(value)), side) for side in image.shape[:2])
    across, down = (int(number) >> 11 for number in np.asarray(stream.random_raw(2)))
    y = down * (image.shape[0] - height + 1) >> 53
    x = across * (image.shape[1] - width + 1) >> 53
    varied = image.copy()
    varied[y : y + height, x : x + width] = (top + 1) // 2
    return varied


@effect
def contrast(image: Pixels, top: int, value: float, _stream: np.random.Philox) -> FloatPixels:
    """Farther from the mean of all pixels and channels, or nearer to it."""
    mean = int(image.sum(dtype=np.int64)) / image.size
    return _rounded((image - mean) * value + mean, top)


@effect
def brightness(image: Pixels, top: int, value: float, _stream: np.random.Philox) -> FloatPixels:
    """The same number added everywhere."""
    return _rounded(image + value * top / LEVELS, top)


def _kernel(sigma: float) -> list[int]:
    """Weights of a Gaussian to three sigma, as whole numbers that sum to 65,536."""
    reach = max(math.ceil(3 * sigma), 1)
    # A tiny sigma must not overflow.
    bell = [math.exp(-(min(n / sigma, 100) ** 2) / 2) for n in range(reach + 1)]
    side = [round(65536 * weight / (2 * sum(bell) - bell[0])) for weight in bell]
    side[0] = 65536 - 2 * sum(side[1:])
    return [*reversed(side[1:]), *side]


@effect
def blur(image: Pixels, top: int, value: float, _stream: np.random.Philox) -> FloatPixels:
    """Both directions in turn; pixels beyond the edge are like the nearest one in the picture."""
    kernel = _kernel(value)
    once = _convolved(image.astype(np.float64), kernel)
    twice = _convolved(once.swapaxes(0, 1), kernel).swapaxes(0, 1)
    return _rounded(twice / 2.0**32, top)


def _convolved(values: FloatPixels, kernel: Sequence[int]) -> FloatPixels:
    reach, rows = len(kernel) // 2, len(values)
    padded = np.pad(values, [(reach, reach)] + [(0, 0)] * (values.ndim - 1), mode="edge")
    total = padded[reach : reach + rows] * kernel[reach]
    for far in range(1, reach + 1):
        # The kernel is symmetric.
        before, after = (padded[reach + step : reach + step + rows] for step in (-far, far))
        total += (before + after) * kernel[reach + far]
    return total


@effect
def rotate(image: Pixels, top: int, value: float, _stream: np.random.Philox) -> Pixels:
    """About the centre; the picture grows."""
    return rotated(image, top, value)


@effect
def downsample(image: Pixels, _top: int, value: float, _stream: np.random.Philox) -> Pixels:
    """Means of squares."""
    return block_means(image, int(value))


@effect
def jpeg(image: Pixels, top: int, value: float, _stream: np.random.Philox) -> FloatPixels:
    """What a JPEG file of this quality would keep."""
    return compressed(image, top, value)
