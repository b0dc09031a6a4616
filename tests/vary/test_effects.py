"""Every effect of [vary] against a twin, and the pixels that all machines must give."""

import hashlib
import io
import math
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from harness.vary.effects import apply_effect, random_stream
from harness.vary.movement import move_box, move_classes, move_numbers, moved_size, rotated_size
from harness.vary.variation import KINDS
from tests.vary.pictures import Plane, picture

# SHA-256 of the pixels of `picture()` with each effect: grey, and with three channels. Whoever changes one of them
# must change EFFECTS_VERSION too, because the inputs of published tests would change.
GOLDEN = {
    ("gaussian", 12.5): ("f39e22317b7ef2ee", "e69fc58ea79a4e28"),
    ("salt_and_pepper", 0.2): ("a1dfa9938946ebe7", "39050bfbad3e7729"),
    ("blur", 1.3): ("02ddcff1311a9be4", "72f2e706ba3c889b"),
    ("contrast", 0.4): ("cef20647d0becc8a", "f5ebf12e2e4fc4c3"),
    ("brightness", -33.3): ("4276ea4e39476811", "701566c2ef86afae"),
    ("rotate", 33): ("056b03e5261ed844", "817a729f1c7b513f"),
    ("rotate", 90): ("1fa262084e31bccf", "dfb6a17b9dbc5c9d"),
    ("occlude", 0.15): ("0b257e2fb5fe6320", "d34715c088467ed3"),
    ("jpeg", 40): ("9e35c4d245a19afa", "8effc436ca35b145"),
    ("downsample", 3): ("78741a0cad236162", "c6725921bdd83efd"),
}


def varied(kind: str, value: float, image: Plane, *, top: int = 255, key: bytes = b"0123456789abcdef") -> Plane:
    return apply_effect(kind, image, top, value, random_stream(key))


def test_every_kind_has_a_golden_digest() -> None:
    assert {kind for kind, _ in GOLDEN} == set(KINDS)


@pytest.mark.parametrize(("kind", "value"), GOLDEN)
def test_pixels_are_the_same_on_every_machine(kind: str, value: float) -> None:
    found = tuple(
        hashlib.sha256(np.ascontiguousarray(varied(kind, value, picture(channels=n))).tobytes()).hexdigest()[:16]
        for n in (0, 3)
    )
    assert found == GOLDEN[kind, value]


def test_gaussian_noise_is_normal() -> None:
    grey = np.full((400, 500), 30_000, dtype=np.uint16)
    noise = varied("gaussian", 10, grey, top=65535).astype(np.float64) - 30_000
    sigma = 10 * 65535 / 255
    n = noise.size
    assert abs(noise.mean()) < 4 * sigma / math.sqrt(n)
    assert noise.std() == pytest.approx(sigma, rel=4 / math.sqrt(2 * n))
    # The fourth moment of a normal distribution is 3 sigma^4; its estimate has a variance of 96 sigma^8 / n.
    assert (noise**4).mean() / sigma**4 == pytest.approx(3, abs=4 * math.sqrt(96 / n))
    # Neighbours are independent.
    assert abs((noise[:, 1:] * noise[:, :-1]).mean()) < 4 * sigma**2 / math.sqrt(n)


def test_noise_of_all_strengths_has_one_pattern() -> None:
    grey = np.full((50, 60), 128, dtype=np.uint8)
    weak, strong = (varied("gaussian", sigma, grey).astype(int) - 128 for sigma in (5, 20))
    assert abs(strong - 4 * weak).max() <= 3  # the weak one was rounded
    other = varied("gaussian", 5, grey, key=b"another key of16").astype(int) - 128
    assert abs(np.corrcoef(weak.ravel(), other.ravel())[0, 1]) < 0.1


def test_salt_and_pepper_hits_a_share_of_the_pixels_and_smaller_shares_are_part_of_larger_ones() -> None:
    grey = np.full((200, 300), 100, dtype=np.uint8)
    few, many = (varied("salt_and_pepper", share, grey) for share in (0.1, 0.3))
    for share, found in ((0.1, few), (0.3, many)):
        assert set(np.unique(found)) == {0, 100, 255}
        assert (found != 100).mean() == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / grey.size))
        assert (found == 255).sum() == pytest.approx((found == 0).sum(), abs=4 * math.sqrt((found != 100).sum()))
    assert (many[few != 100] == few[few != 100]).all()
    assert (varied("salt_and_pepper", 1, grey) != 100).all()
    colours = varied("salt_and_pepper", 0.5, picture(channels=3))
    assert set(map(tuple, colours[(colours != picture(channels=3)).any(axis=2)])) == {(0, 0, 0), (255, 255, 255)}


@pytest.mark.parametrize("sigma", [0.4, 1, 2.7])
def test_blur_is_a_gaussian_filter(sigma: float) -> None:
    image = picture(40, 50)
    radius = math.ceil(3 * sigma)
    twin = ndimage.gaussian_filter(image.astype(np.float64), sigma, mode="nearest", radius=radius)
    assert abs(varied("blur", sigma, image) - twin).max() <= 0.51
    assert (varied("blur", 1e-300, image) == image).all()


def test_contrast_and_brightness_by_their_formulas() -> None:
    image = picture()
    mean = Fraction(int(image.sum()), image.size)
    for factor in (0, 0.3, 1.7):
        twin = [min(max(round((int(p) - mean) * Fraction(factor) + mean), 0), 255) for p in image.ravel()]
        assert varied("contrast", factor, image).ravel().tolist() == twin
    for step in (-60, 0.4, 99.5):
        twin = [min(max(round(Fraction(step) + int(p)), 0), 255) for p in image.ravel()]
        assert varied("brightness", step, image).ravel().tolist() == twin


def test_grey_levels_are_parts_of_the_range_of_the_image() -> None:
    small, large = (np.full((30, 30), top // 2, dtype=np.uint16) for top in (16, 65535))
    assert (varied("brightness", 127.5, small, top=16) == 16).all()
    assert (varied("brightness", -51, large, top=65535) == 65535 // 2 - 65535 // 5).all()
    assert varied("gaussian", 255, small, top=16).max() == 16
    assert abs(varied("jpeg", 90, large, top=65535).astype(int) - 65535 // 2).max() <= 257


def test_occlusion_hides_its_share() -> None:
    image = np.full((60, 80), 255, dtype=np.uint8)
    hidden = varied("occlude", 0.25, image) == 128
    rows, columns = np.flatnonzero(hidden.any(axis=1)), np.flatnonzero(hidden.any(axis=0))
    assert (len(rows), len(columns), hidden.sum()) == (30, 40, 30 * 40)
    assert (np.diff(rows) == 1).all()
    assert (varied("occlude", 1, image) == 128).all()
    corners = {
        tuple(np.argwhere(varied("occlude", 0.25, image, key=bytes([n]) * 16) == 128)[0].tolist()) for n in range(200)
    }
    assert (min(y for y, _ in corners), max(y for y, _ in corners)) == pytest.approx((0, 30), abs=2)
    assert (min(x for _, x in corners), max(x for _, x in corners)) == pytest.approx((0, 40), abs=2)


@pytest.mark.parametrize("quality", [10, 50, 90])
@pytest.mark.parametrize("channels", [0, 3])
def test_jpeg_loses_what_a_jpeg_file_loses(quality: int, channels: int) -> None:
    small = Image.fromarray(picture(12, 14, channels=channels))
    image = np.asarray(small.resize((101, 83), Image.Resampling.BICUBIC))
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality)
    twin = np.asarray(Image.open(file)).astype(int)
    found, original = varied("jpeg", quality, image).astype(int), image.astype(int)
    assert abs(found - twin).mean() < 0.25 * abs(twin - original).mean() + 0.3
    assert abs(found - original).mean() == pytest.approx(abs(twin - original).mean(), rel=0.1)


def test_downsampling_takes_means() -> None:
    image = picture(20, 23)
    found = varied("downsample", 3, image)
    assert found.shape == (7, 8)
    for y in range(7):
        for x in range(8):
            block = image[3 * y : 3 * y + 3, 3 * x : 3 * x + 3]
            mean = Fraction(int(block.sum()), block.size)
            assert found[y, x] == math.floor(mean + Fraction(1, 2))
    assert varied("downsample", 64, image).shape == (1, 1)


def source(shape: tuple[int, ...], size: tuple[int, int], degrees: float, x: int, y: int) -> tuple[float, float]:
    """Where a pixel of a picture that was turned anticlockwise comes from, by the textbook; y points down."""
    angle = math.radians(degrees)
    across, down = x + 0.5 - size[0] / 2, y + 0.5 - size[1] / 2
    back_x = across * math.cos(angle) - down * math.sin(angle)
    back_y = across * math.sin(angle) + down * math.cos(angle)
    return back_x + shape[1] / 2 - 0.5, back_y + shape[0] / 2 - 0.5


@pytest.mark.parametrize("degrees", [33, -71.5, 135, 359])
def test_rotation_is_bilinear_and_the_truth_is_nearest(degrees: float) -> None:
    image, truth = picture(13, 17), (picture(13, 17) // 60).astype(np.uint8)
    size = rotated_size(17, 13, degrees)
    found, moved = varied("rotate", degrees, image), move_classes(truth, "rotate", degrees, 9)
    assert found.shape == moved.shape == (size[1], size[0])
    for y in range(size[1]):
        for x in range(size[0]):
            a, b = source(image.shape, size, degrees, x, y)
            twin = ndimage.map_coordinates(image.astype(float), [[b], [a]], order=1, mode="nearest")[0]
            assert abs(found[y, x] - twin) <= 2.5  # weights are multiples of 1/256
            column, row = math.floor(a + 0.5), math.floor(b + 0.5)
            inside = 0 <= column < 17 and 0 <= row < 13
            near_edge = min(abs(a + 0.5 - round(a + 0.5)), abs(b + 0.5 - round(b + 0.5))) < 1e-4
            assert near_edge or moved[y, x] == (truth[row, column] if inside else 9)


def test_rotation_by_right_angles_is_exact_and_nothing_is_cut_off() -> None:
    image = picture(13, 17)
    twins = {90: Image.Transpose.ROTATE_90, 180: Image.Transpose.ROTATE_180, -90: Image.Transpose.ROTATE_270}
    for degrees, twin in twins.items():
        assert (varied("rotate", degrees, image) == np.asarray(Image.fromarray(image).transpose(twin))).all()
        assert (move_classes(image, "rotate", degrees) == varied("rotate", degrees, image)).all()
    # All classes are still there, about as often: areas do not change.
    truth = np.zeros((40, 60), dtype=np.uint8)
    truth[:10, :10], truth[-10:, -10:] = 1, 2
    for degrees in (10, 45, 200):
        moved = move_classes(truth, "rotate", degrees)
        assert ((moved == 1).sum(), (moved == 2).sum()) == pytest.approx((100, 100), abs=12)


def test_a_smaller_truth_has_the_most_frequent_class() -> None:
    truth = (picture(14, 11) // 70).astype(np.uint16)
    found = move_classes(truth, "downsample", 4)
    for y, x in np.ndindex(4, 3):
        values = truth[4 * y : 4 * y + 4, 4 * x : 4 * x + 4].ravel().tolist()
        assert found[y, x] == min(set(values), key=lambda one: (-values.count(one), one))
    weights = picture(14, 11) / 255
    mean = move_numbers(weights, "downsample", 4)
    assert mean[3, 2] == pytest.approx(weights[12:, 8:].mean())
    assert (move_numbers(picture(14, 11), "downsample", 4) == varied("downsample", 4, picture(14, 11))).all()


@pytest.mark.parametrize("degrees", [90, 180, 270, -90, 25, 111])
def test_a_moved_box_is_around_the_moved_object(degrees: float) -> None:
    truth = np.zeros((80, 120), dtype=np.uint8)
    truth[20:50, 30:90] = 1
    x, y, width, height = move_box([30, 20, 60, 30], (120, 80), "rotate", degrees)
    moved = move_classes(truth, "rotate", degrees)
    rows, columns = np.flatnonzero(moved.any(axis=1)), np.flatnonzero(moved.any(axis=0))
    pixels = (columns[0], rows[0], columns[-1] + 1 - columns[0], rows[-1] + 1 - rows[0])
    assert (x, y, width, height) == pytest.approx(pixels, abs=0 if degrees % 90 == 0 else 2)
    assert moved_size((120, 80), "rotate", degrees) == (moved.shape[1], moved.shape[0])


def test_a_box_of_a_smaller_picture_is_smaller() -> None:
    assert move_box([30, 20, 60, 30], (120, 80), "downsample", 4) == [7.5, 5, 15, 7.5]
    assert moved_size((121, 80), "downsample", 4) == (31, 20)
