"""MNIST and Fashion-MNIST from their IDX files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from bnndeploy.errors import DataError
from bnndeploy.training.data._base import Dataset, TensorSplit, register
from bnndeploy.training.data._download import download_with_torchvision
from bnndeploy.training.data._files import find_folder
from bnndeploy.training.data.idx import read_idx


class _IdxDigits(Dataset):
    folder: ClassVar[str]
    shape = (1, 28, 28)
    classes: tuple[str, ...]

    def read(self, root: Path | None, download: bool) -> tuple[TensorSplit, TensorSplit]:
        if download:
            download_with_torchvision(self.folder, root)
        first = "train-images-idx3-ubyte"
        folder = find_folder(
            root, (f"{self.folder}/raw", self.folder, "raw", "."), (first, f"{first}.gz")
        )
        train = replace(self._read(folder, "train"), augment=self.augment)
        return train, self._read(folder, "t10k")

    def _read(self, folder: Path, part: str) -> TensorSplit:
        images = read_idx(_plain_or_gz(folder / f"{part}-images-idx3-ubyte"), 3)
        labels = read_idx(_plain_or_gz(folder / f"{part}-labels-idx1-ubyte"), 1)
        if len(images) != len(labels):
            raise DataError(
                f"{folder}: got {len(images)} images and {len(labels)} labels in {part}, "
                "expected as many of each; get the files again"
            )
        if tuple(images.shape[1:]) != self.shape[1:]:
            raise DataError(
                f"{folder}: got images of {list(images.shape[1:])} in {part}, "
                f"expected {list(self.shape[1:])}"
            )
        return TensorSplit(images.unsqueeze(1), labels.long(), self.normalise)


def _plain_or_gz(path: Path) -> Path:
    zipped = path.with_name(f"{path.name}.gz")
    return zipped if zipped.is_file() and not path.is_file() else path


@register("mnist")
class Mnist(_IdxDigits):
    """Handwritten digits, 28×28 grey, 60,000 + 10,000 images.

    Reference: LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document
    recognition", Proceedings of the IEEE, 1998.
    """

    about = "handwritten digits, 28x28 grey, 60,000 + 10,000"
    folder = "MNIST"
    files = "MNIST/raw/*-ubyte, plain or .gz"
    classes = tuple("0123456789")
    default_mean = (0.1307,)
    default_std = (0.3081,)


@register("fashion-mnist")
class FashionMnist(_IdxDigits):
    """Articles of clothing, 28×28 grey, 60,000 + 10,000 images.

    Reference: Xiao, Rasul, Vollgraf, "Fashion-MNIST", 2017, arXiv:1708.07747.
    """

    about = "clothing, 28x28 grey, 60,000 + 10,000"
    folder = "FashionMNIST"
    files = "FashionMNIST/raw/*-ubyte, plain or .gz"
    classes = (
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    )
    default_mean = (0.2860,)
    default_std = (0.3530,)
