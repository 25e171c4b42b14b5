"""What a data set is, the registry of data sets, and the splits that training works on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from bnndeploy.errors import RecipeError
from bnndeploy.registry import Registry
from bnndeploy.training.data.augment import Augment, compose
from bnndeploy.training.recipe import DataTable


@dataclass(frozen=True)
class Normalise:
    """Maps pixels to what a network reads: ``(pixel / range_max - mean) / std`` per channel."""

    range_max: float
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __call__(self, pixels: Tensor) -> Tensor:
        mean, std = (torch.tensor(values).view(-1, 1, 1) for values in (self.mean, self.std))
        return (pixels.float() / self.range_max - mean) / std


class Split(Protocol):
    """Labelled images; only the requested ones are ever decoded."""

    @property
    def labels(self) -> Tensor:
        """int64 [N]."""

    def __len__(self) -> int: ...

    def pixels_at(self, index: Tensor) -> Tensor:
        """Returns uint8 pixels [n, C, H, W] of the images at these places."""

    def batch(self, index: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Returns normalised float32 images [n, C, H, W], augmented if a generator is given."""

    def subset(self, index: Tensor) -> Split: ...

    @property
    def images(self) -> Tensor:
        """All images, normalised: float32 [N, C, H, W]."""


@dataclass(frozen=True)
class TensorSplit:
    """A split held in memory: uint8 pixels [N, C, H, W] and int64 labels [N]."""

    pixels: Tensor
    labels: Tensor
    normalise: Normalise
    augment: Augment | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def pixels_at(self, index: Tensor) -> Tensor:
        return self.pixels[index]

    def batch(self, index: Tensor, generator: torch.Generator | None = None) -> Tensor:
        pixels = self.pixels[index]
        if self.augment is not None and generator is not None:
            pixels = self.augment(pixels, generator)
        return self.normalise(pixels)

    def subset(self, index: Tensor) -> TensorSplit:
        return replace(self, pixels=self.pixels[index], labels=self.labels[index])

    @property
    def images(self) -> Tensor:
        return self.normalise(self.pixels)


@dataclass(frozen=True)
class DataSplits:
    """The three splits of a data set, its class names and how an image becomes an input."""

    train: Split
    validation: Split
    test: Split
    classes: tuple[str, ...]
    input_spec: dict[str, Any]


class Dataset(ABC):
    """One data set: constants known without its files, and how to read them.

    ``shape`` is [C, H, W]; ``range_max`` the largest pixel; ``mean`` and ``std`` are those of
    the training images divided by ``range_max``.
    """

    about: ClassVar[str]
    files: ClassVar[str]
    range_max: ClassVar[int] = 255
    default_mean: ClassVar[tuple[float, ...]]
    default_std: ClassVar[tuple[float, ...]]

    def __init__(self, table: DataTable) -> None:
        self.table = table
        self.name = table.dataset
        self.mean = table.mean or self.default_mean
        self.std = table.std or self.default_std
        self.augment = compose(table.augment)
        channels = self.shape[0]
        for key, values in (("mean", self.mean), ("std", self.std)):
            if len(values) != channels:
                raise RecipeError(
                    f"data.{key}: got {len(values)} values, expected {channels}, one a channel"
                )

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """[C, H, W] of one image."""

    @property
    @abstractmethod
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, in the order of their labels."""

    @abstractmethod
    def read(self, root: Path | None, download: bool) -> tuple[Split, Split]:
        """Reads the training images, which carry the augmentation, and the test images.

        Raises:
            DataError: a file is missing, unreadable or not what its name says.
        """

    @property
    def normalise(self) -> Normalise:
        return Normalise(float(self.range_max), self.mean, self.std)

    @property
    def input_spec(self) -> dict[str, Any]:
        """How an image becomes an input of the network, as written into exported files."""
        return {
            "shape": list(self.shape),
            "colour": "grey" if self.shape[0] == 1 else "rgb",
            "mean": list(self.mean),
            "std": list(self.std),
            "range": [0, self.range_max],
        }


_REGISTRY: Registry[Dataset] = Registry("data set")
register = _REGISTRY.register
names = _REGISTRY.names


def registered() -> dict[str, type[Dataset]]:
    """Returns the registered data sets by name."""
    classes = {name: _REGISTRY.builder(name) for name in names()}
    return {name: cls for name, cls in classes.items() if isinstance(cls, type)}


def get(table: DataTable, classes: int = 0) -> Dataset:
    """Returns the data set that a recipe names, without reading its files.

    Args:
        table: The [data] table of the recipe.
        classes: How many classes an image folder was found to have, where the recipe leaves
            ``data.classes`` open.

    Raises:
        RecipeError: If there is none of that name.
    """
    known = replace(table, classes=table.classes or classes)
    return _REGISTRY.builder(table.dataset)(known)
