"""Folders of images, one folder a class, as ImageNet is laid out; decoded when they are needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from bnndeploy.errors import DataError, RecipeError
from bnndeploy.training.data._base import Dataset, Normalise, register
from bnndeploy.training.data.augment import Augment
from bnndeploy.training.data.guards import check_class_maps
from bnndeploy.training.recipe import DataTable

_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".ppm", ".pgm", ".tif", ".tiff", ".gif"}
_THREADS = 8
# At evaluation the shorter side becomes 8/7 of the input, then the centre is cut out: 256 to 224.
_MARGIN = 8 / 7

Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class FolderSplit:
    """Images on disk; ``labels`` int64 [N]. ``augment`` gets the cropped uint8 batch."""

    paths: tuple[Path, ...]
    labels: Tensor
    size: int
    normalise: Normalise
    augment: Augment | None = None
    random_crop: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    def pixels_at(self, index: Tensor) -> Tensor:
        return self._decode(index, lambda image, _: _centre_crop(image, self.size))

    def batch(self, index: Tensor, generator: torch.Generator | None = None) -> Tensor:
        if generator is None:
            return self.normalise(self.pixels_at(index))
        # One seed an image, drawn before the threads start: their order then changes nothing.
        seeds = torch.randint(2**62, (len(index),), generator=generator).tolist()
        crop = _random_crop if self.random_crop else _centre_crop_of
        pixels = self._decode(index, lambda image, place: crop(image, self.size, seeds[place]))
        return self.normalise(self.augment(pixels, generator) if self.augment else pixels)

    def subset(self, index: Tensor) -> FolderSplit:
        paths = tuple(self.paths[place] for place in index.tolist())
        return replace(self, paths=paths, labels=self.labels[index])

    @property
    def images(self) -> Tensor:
        return self.batch(torch.arange(len(self)))

    def _decode(self, index: Tensor, crop: Callable[[Image.Image, int], Image.Image]) -> Tensor:
        def read(place: int, number: int) -> Tensor:
            path = self.paths[number]
            try:
                with Image.open(path) as image:
                    pixels = np.asarray(crop(image.convert("RGB"), place))
            except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
                raise DataError(f"{path}: cannot be read as an image ({error})") from None
            return torch.from_numpy(pixels.copy()).permute(2, 0, 1)

        numbers = index.tolist()
        with ThreadPoolExecutor(_THREADS) as pool:  # Pillow decodes outside the interpreter lock
            return torch.stack(list(pool.map(read, range(len(numbers)), numbers)))


@register("folder")
class ImageFolder(Dataset):
    """Images in ``train/<class>/`` and ``val/<class>/`` (or ``test/<class>/``).

    ``data.size`` is the side of the square input, 224 unless given; ``data.classes`` the number
    of classes, needed where a network is built without its images. The augmentation
    ``resized_crop`` cuts out 8 to 100 % of the area at an aspect ratio of 3/4 to 4/3.

    Normalised by ImageNet's mean and standard deviation unless the recipe gives others.
    Reference: Szegedy et al., "Going Deeper with Convolutions", 2015, arXiv:1409.4842 (crops).
    """

    about = "your own images, one folder a class (ImageNet's layout)"
    files = "train/<class>/*.jpg and val/<class>/*.jpg"
    default_mean = (0.485, 0.456, 0.406)
    default_std = (0.229, 0.224, 0.225)

    def __init__(self, table: DataTable) -> None:
        self._random_crop = "resized_crop" in table.augment
        others = tuple(name for name in table.augment if name != "resized_crop")
        super().__init__(replace(table, augment=others))
        self._classes = tuple(str(label) for label in range(table.classes))

    @property
    def shape(self) -> tuple[int, int, int]:
        return 3, self.table.size or 224, self.table.size or 224

    @property
    def classes(self) -> tuple[str, ...]:
        if not self._classes:
            raise RecipeError(
                "data.classes: got none, expected the number of class folders for data set 'folder'"
            )
        return self._classes

    def read(self, root: Path | None, download: bool) -> tuple[FolderSplit, FolderSplit]:
        if root is None or download:
            raise DataError("folder: got no folder of images, expected --data DIR")
        test_folder = next((n for n in ("test", "val") if (root / n).is_dir()), "val")
        train, names = self._read(root / "train")
        test, test_names = self._read(root / test_folder)
        check_class_maps(names, test_names, f"{root / test_folder}")
        if self.table.classes and self.table.classes != len(names):
            raise DataError(
                f"{root / 'train'}: got {len(names)} class folders, expected the "
                f"{self.table.classes} of data.classes"
            )
        self._classes = names
        return replace(train, augment=self.augment, random_crop=self._random_crop), test

    def _read(self, folder: Path) -> tuple[FolderSplit, tuple[str, ...]]:
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder, expected one folder of images a class")
        names = tuple(sorted(path.name for path in folder.iterdir() if path.is_dir()))
        paths: list[Path] = []
        labels: list[int] = []
        for label, name in enumerate(names):
            found = sorted(p for p in (folder / name).rglob("*") if p.suffix.lower() in _SUFFIXES)
            paths += found
            labels += [label] * len(found)
        if not paths:
            raise DataError(
                f"{folder}: got no images in class folders, expected {folder.name}/<class>/*.jpg; "
                "sort a flat archive first"
            )
        split = FolderSplit(tuple(paths), torch.tensor(labels), self.shape[1], self.normalise)
        return split, names


def _centre_crop(image: Image.Image, size: int) -> Image.Image:
    scale = size * _MARGIN / min(image.size)
    width, height = (max(size, round(side * scale)) for side in image.size)
    image = image.resize((width, height), Image.Resampling.BILINEAR)
    left, top = (width - size) // 2, (height - size) // 2
    return image.crop((left, top, left + size, top + size))


def _centre_crop_of(image: Image.Image, size: int, seed: int) -> Image.Image:
    return _centre_crop(image, size)


def _random_crop(image: Image.Image, size: int, seed: int) -> Image.Image:
    box = _random_box(image.width, image.height, torch.Generator().manual_seed(seed))
    return image.resize((size, size), Image.Resampling.BILINEAR, box=box)


def _random_box(width: int, height: int, generator: torch.Generator) -> Box:
    for area, ratio, x, y in torch.rand(10, 4, generator=generator).tolist():
        wanted = (0.08 + 0.92 * area) * width * height
        aspect = math.exp(math.log(3 / 4) + ratio * math.log((4 / 3) / (3 / 4)))
        w, h = round(math.sqrt(wanted * aspect)), round(math.sqrt(wanted / aspect))
        if 0 < w <= width and 0 < h <= height:
            left, top = round(x * (width - w)), round(y * (height - h))
            return left, top, left + w, top + h
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    return left, top, left + side, top + side
