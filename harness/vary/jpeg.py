"""What JPEG compression loses, as an effect of [vary]: its transform, tables and rounding, without writing a file."""

import math

import numpy as np

from harness.vary.movement import FloatPixels, Pixels, block_means

LEVELS = 255
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
    scaled = [min(max((int(one) * percent + 50) // 100, 1), 255) for one in text.split()]
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
