"""Data sets as labelled images with a seeded validation split."""

from __future__ import annotations

from pathlib import Path

import torch

from bnndeploy.errors import DataError
from bnndeploy.training.data._base import (
    Dataset,
    DataSplits,
    Normalise,
    Split,
    TensorSplit,
    get,
    names,
    register,
    registered,
)
from bnndeploy.training.data.cifar import Cifar10, Cifar100
from bnndeploy.training.data.digits import Digits
from bnndeploy.training.data.guards import check_split, histogram
from bnndeploy.training.data.image_folder import FolderSplit, ImageFolder
from bnndeploy.training.data.mnist import FashionMnist, Mnist
from bnndeploy.training.data.svhn import Svhn
from bnndeploy.training.recipe import DataTable

__all__ = [
    "Cifar10",
    "Cifar100",
    "DataSplits",
    "Dataset",
    "Digits",
    "FashionMnist",
    "FolderSplit",
    "ImageFolder",
    "Mnist",
    "Normalise",
    "Split",
    "Svhn",
    "TensorSplit",
    "get",
    "histogram",
    "load",
    "names",
    "register",
    "registered",
]


def load(table: DataTable, root: Path | str | None = None, *, download: bool = False) -> DataSplits:
    """Reads the data set of a recipe and sets a seeded share aside for validation.

    "Best" is chosen on the validation images, so that the test images are looked at once.

    Raises:
        DataError: a file is missing or damaged, or the labels cannot teach anything.
    """
    dataset = get(table)
    whole, test = dataset.read(Path(root) if root is not None else None, download)
    check_split(whole, dataset.classes, f"{dataset.name} training images")
    check_split(test, dataset.classes, f"{dataset.name} test images")
    held_out = round(len(whole) * table.validation)
    if not 0 < held_out < len(whole):
        raise DataError(
            f"{dataset.name}: got {held_out} of {len(whole)} images for validation, expected "
            "some for it and some for training; change data.validation"
        )
    order = torch.randperm(len(whole), generator=torch.Generator().manual_seed(table.split_seed))
    splits = DataSplits(
        train=whole.subset(order[held_out:].sort().values),
        validation=whole.subset(order[:held_out].sort().values),
        test=test,
        classes=dataset.classes,
        input_spec=dataset.input_spec,
    )
    check_split(splits.train, dataset.classes, f"{dataset.name} training images")
    return splits
