"""Writes images of a data set as files, to try a model on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from bnndeploy.training.data._base import DataSplits


def save_samples(splits: DataSplits, folder: Path | str, count: int) -> list[Path]:
    """Writes the first ``count`` test images as PNG files named by place and class.

    Returns:
        The paths, in the order of the test images.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    first = torch.arange(min(count, len(splits.test)))
    fractions = splits.test.pixels_at(first).numpy() / splits.input_spec["range"][1]
    pixels = (fractions * 255).round().astype(np.uint8)
    paths = []
    for place, (image, label) in enumerate(zip(pixels, splits.test.labels[first], strict=True)):
        path = target / f"{place:04d}_{splits.classes[int(label)].replace('/', '_')}.png"
        channels_last = np.moveaxis(image, 0, -1)
        Image.fromarray(channels_last[..., 0] if len(image) == 1 else channels_last).save(path)
        paths.append(path)
    return paths
