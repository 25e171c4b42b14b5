"""Turns an image file, or a NumPy array file, into a model's input.

An image of any size is turned upright (EXIF), laid on white where it is transparent, cropped
around its centre to the input's aspect ratio and resized. An array (``.npy``) is taken as it is:
its pixels count in the data set's own range and its size must be the model's.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bnndeploy.errors import DataError, MissingExtraError
from bnndeploy.runtime.metadata import InputSpec

if TYPE_CHECKING:
    from PIL import Image

Float = NDArray[np.float32]

# A few kilobytes of PNG can unpack to gigabytes; this is 100 megapixels.
_MAX_PIXELS = 100_000_000


def load_input(path: Path, spec: InputSpec, *, invert: bool = False) -> Float:
    """Reads an image or ``.npy`` file as one input ``[C, H, W]``.

    Raises:
        DataError: If the file is missing, unreadable or does not fit.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise DataError(f"{path}: {reason.lower()}; expected an image or .npy file") from error
    decode = decode_array if path.suffix == ".npy" else decode_image
    return decode(data, spec, name=str(path), invert=invert)


def decode_image(data: bytes, spec: InputSpec, *, name: str, invert: bool = False) -> Float:
    """Decodes PNG, JPEG or whatever pillow reads into one input ``[C, H, W]``.

    Raises:
        DataError: If pillow cannot read it.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise MissingExtraError("pillow", "cpu", "gpu") from error
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > _MAX_PIXELS:
                raise ValueError(f"{image.width} x {image.height} pixels are too many")
            upright = ImageOps.exif_transpose(image)
            coloured = _to_colour(upright, "L" if spec.colour == "grey" else "RGB")
    except Exception as error:  # decoders raise whatever their format library does
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        reason = "not an image pillow knows" if "cannot identify" in reason else reason
        raise DataError(
            f"{name}: cannot be read as an image ({reason}); expected a complete PNG, JPEG or "
            "similar file"
        ) from error
    _, height, width = spec.shape
    resized = _resize(coloured, width, height)
    pixels = np.asarray(resized, dtype=np.float32).reshape(height, width, -1)
    return _normalise(pixels.transpose(2, 0, 1) / np.float32(255), spec, invert)


def decode_array(data: bytes, spec: InputSpec, *, name: str, invert: bool = False) -> Float:
    """Decodes a ``.npy`` file ``[H, W]``, ``[H, W, C]`` or ``[C, H, W]`` into one input.

    Raises:
        DataError: If it is no such array, or has pixels outside the data set's range.
    """
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
        pixels = np.asarray(array, dtype=np.float32)
    except (ValueError, OSError, EOFError, TypeError, SyntaxError) as error:
        raise DataError(f"{name}: cannot be read as a .npy array of numbers") from error
    channels, height, width = spec.shape
    if pixels.shape == (height, width) and channels == 1:
        pixels = pixels[None]
    elif pixels.shape == (height, width, channels):
        pixels = pixels.transpose(2, 0, 1)
    if pixels.shape != spec.shape:
        raise DataError(
            f"{name}: got an array of shape {list(pixels.shape)}, expected "
            f"{list(spec.shape)} (or {[height, width, channels]}); an array is not resized, "
            "an image file is"
        )
    if not (np.all(pixels >= 0) and np.all(pixels <= spec.range_max)):  # NaN is refused too
        raise DataError(
            f"{name}: got values from {pixels.min():g} to {pixels.max():g}, expected pixels from "
            f"0 to {spec.range_max:g}; give the raw pixels, normalising is done here"
        )
    return _normalise(pixels / np.float32(spec.range_max), spec, invert)


def _normalise(fraction: Float, spec: InputSpec, invert: bool) -> Float:
    """Applies mean and std to pixels in [0, 1]. Shape: ``(C, H, W)``."""
    mean, std = (np.asarray(v, dtype=np.float32)[:, None, None] for v in (spec.mean, spec.std))
    values: Float = ((1 - fraction if invert else fraction) - mean) / std
    return values.astype(np.float32)


def _resize(image: Image.Image, width: int, height: int) -> Image.Image:
    """Cuts the largest centred part of the aspect ratio out and resizes it."""
    from PIL import Image

    scale = min(image.width / width, image.height / height)
    cut_width, cut_height = (max(1, round(size * scale)) for size in (width, height))
    left, top = (image.width - cut_width) // 2, (image.height - cut_height) // 2
    cut = image.crop((left, top, left + cut_width, top + cut_height))
    return cut.resize((width, height), Image.Resampling.BILINEAR)


def _to_colour(image: Image.Image, mode: str) -> Image.Image:
    """Converts to 8-bit grey or RGB, transparent parts to white."""
    from PIL import Image

    if image.mode.startswith("I"):  # 16-bit grey: convert("L") would clip it at 255
        wide: Any = np.asarray(image, dtype=np.float64)
        image = Image.fromarray(np.clip(wide / 257, 0, 255).round().astype(np.uint8))
    if image.mode == "F":
        raise ValueError("floating-point pixels have no known range")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert(mode)
