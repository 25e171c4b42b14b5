import io

import numpy as np
import pytest
from PIL import Image

from bnndeploy.errors import DataError
from bnndeploy.runtime import InputSpec
from bnndeploy.runtime.images import decode_array, decode_image, load_input

GREY = InputSpec((1, 4, 4), "grey", (0.5,), (0.25,), 16)
RGB = InputSpec((3, 2, 2), "rgb", (0.1, 0.2, 0.3), (0.5, 0.25, 2.0))


def encode(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_a_colour_image_is_scaled_and_normalised_channel_by_channel():
    pixels = np.random.default_rng(0).integers(0, 256, (2, 2, 3), dtype=np.uint8)

    x = decode_image(encode(Image.fromarray(pixels)), RGB, name="a.png")

    expected = pixels.transpose(2, 0, 1) / np.float32(255)
    expected = (expected - np.float32([[[0.1]], [[0.2]], [[0.3]]])) / np.float32(
        [[[0.5]], [[0.25]], [[2.0]]]
    )
    np.testing.assert_array_equal(x, expected.astype(np.float32))


def test_an_image_of_another_size_is_cropped_to_the_aspect_ratio_and_resized():
    pixels = np.full((40, 80), 255, np.uint8)
    pixels[:, :20] = pixels[:, 60:] = 0  # what the centre crop leaves out

    x = decode_image(encode(Image.fromarray(pixels)), GREY, name="a.png")

    np.testing.assert_array_equal(x, np.full((1, 4, 4), (1 - 0.5) / 0.25, np.float32))


def test_an_image_is_turned_as_its_exif_says():
    pixels = np.zeros((4, 4), np.uint8)
    pixels[0] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # the viewer turns it by 90 degrees: the first row becomes the last column

    x = decode_image(encode(Image.fromarray(pixels), exif=exif), GREY, name="a.png")

    np.testing.assert_array_equal(x[0] > 0, [[False, False, False, True]] * 4)


def test_transparent_parts_count_as_white_and_invert_makes_them_black():
    image = Image.new("RGBA", (4, 4), (0, 0, 0, 0))

    white = decode_image(encode(image), GREY, name="a.png")
    black = decode_image(encode(image), GREY, name="a.png", invert=True)

    assert set(white.ravel()) == {2.0}
    assert set(black.ravel()) == {-2.0}


def test_sixteen_bit_grey_is_scaled_and_not_clipped():
    image = Image.fromarray(np.full((4, 4), 257 * 51, np.uint16))

    x = decode_image(encode(image), GREY, name="a.png")

    np.testing.assert_allclose(x, np.full((1, 4, 4), (0.2 - 0.5) / 0.25), rtol=1e-6)


@pytest.mark.parametrize("data", [b"", b"no image", b"\x89PNG\r\n\x1a\n" + bytes(40)])
def test_bytes_that_are_no_image_give_one_line(data):
    with pytest.raises(DataError, match=r"^cat\.png: cannot be read as an image .*[^\n]*$"):
        decode_image(data, GREY, name="cat.png")


def test_a_truncated_image_is_refused():
    noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    whole = encode(Image.fromarray(noise), "JPEG")

    with pytest.raises(DataError, match=r"a\.jpg: cannot be read as an image \(.*truncated"):
        decode_image(whole[: len(whole) // 2], RGB, name="a.jpg")


def test_an_image_that_unpacks_to_too_many_pixels_is_refused():
    bomb = encode(Image.new("1", (20_000, 6_000)))

    assert len(bomb) < 20_000
    with pytest.raises(DataError, match=r"a\.png: cannot be read as an image"):
        decode_image(bomb, GREY, name="a.png")


@pytest.mark.parametrize("shape", [(4, 4), (1, 4, 4), (4, 4, 1)])
def test_an_array_counts_in_the_range_of_its_data_set(shape):
    pixels = np.arange(16, dtype=np.uint8).reshape(shape)

    x = decode_array(npy(pixels), GREY, name="a.npy")

    expected = (np.arange(16, dtype=np.float32) / 16 - 0.5) / 0.25
    np.testing.assert_array_equal(x, expected.reshape(1, 4, 4))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((5, 4)), r"shape \[5, 4\], expected \[1, 4, 4\]"),
        (np.full((4, 4), 17.0), r"values from 17 to 17, expected pixels from 0 to 16"),
        (np.full((4, 4), np.nan), r"values from nan to nan"),
        (np.array(["four"]), r"cannot be read as a \.npy array of numbers"),
    ],
)
def test_an_array_that_does_not_fit_is_refused(array, message):
    with pytest.raises(DataError, match=message):
        decode_array(npy(array), GREY, name="a.npy")


def test_an_array_of_pickled_objects_is_never_loaded():
    with pytest.raises(DataError, match=r"cannot be read as a \.npy array"):
        decode_array(npy(np.array([{"a": 1}], dtype=object)), GREY, name="a.npy")


@pytest.mark.parametrize("name", ["gone.png", "."])
def test_a_missing_file_or_a_folder_gives_one_line(tmp_path, name):
    with pytest.raises(DataError, match=r"(no such file|is a directory).*; expected an image"):
        load_input(tmp_path / name, GREY)
