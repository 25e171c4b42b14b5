"""CIFAR-10 and CIFAR-100 from their python or binary archives."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from bnndeploy.errors import DataError
from bnndeploy.training.data._base import Dataset, TensorSplit, register
from bnndeploy.training.data._download import download_with_torchvision
from bnndeploy.training.data._files import find_folder, has_files, read_member
from bnndeploy.training.data.cifar100_classes import CIFAR100_CLASSES

_PIXELS = 3 * 32 * 32


class _Cifar(Dataset):
    torchvision_name: ClassVar[str]
    binary_folder: ClassVar[str]
    python_folder: ClassVar[str]
    # Names of the training parts and of the test part, and the bytes before each image.
    binary_parts: ClassVar[tuple[tuple[str, ...], str]]
    python_parts: ClassVar[tuple[tuple[str, ...], str]]
    label_bytes: ClassVar[int]
    label_key: ClassVar[str]
    classes: tuple[str, ...]
    shape = (3, 32, 32)

    def read(self, root: Path | None, download: bool) -> tuple[TensorSplit, TensorSplit]:
        if download:
            download_with_torchvision(self.torchvision_name, root)
        binary, python = self._places(self.binary_folder), self._places(self.python_folder)
        if has_files(root, binary, (self.binary_parts[1],)) or self._archive(root, "binary"):
            folder = self._archive(root, "binary") or find_folder(
                root, binary, (self.binary_parts[1],)
            )
            parts, read = self.binary_parts, self._read_binary
        else:
            folder = self._archive(root, "python") or find_folder(
                root, (*python, *binary), (self.python_parts[1], self.binary_parts[1])
            )
            parts, read = self.python_parts, self._read_python
        training = [read(folder, name) for name in parts[0]]
        pixels = torch.cat([part.pixels for part in training])
        labels = torch.cat([part.labels for part in training])
        train = TensorSplit(pixels, labels, self.normalise, self.augment)
        return train, read(folder, parts[1])

    def _places(self, folder: str) -> tuple[str, ...]:
        return folder, "."

    def _archive(self, root: Path | None, kind: str) -> Path | None:
        name = f"{self.name}-{kind}.tar.gz"
        return root / name if root is not None and (root / name).is_file() else None

    def _read_binary(self, folder: Path, name: str) -> TensorSplit:
        """Records of the label bytes (the last one is the fine label) and 3×32×32 pixels."""
        content = np.frombuffer(read_member(folder, name), np.uint8)
        record = self.label_bytes + _PIXELS
        if content.size == 0 or content.size % record:
            raise DataError(
                f"{folder / name}: got {content.size:,} bytes, expected a multiple of {record} "
                "(label and 3x32x32 pixels); the file is cut off, get it again"
            )
        records = torch.from_numpy(content.reshape(-1, record).copy())
        pixels = records[:, self.label_bytes :].reshape(-1, 3, 32, 32)
        return TensorSplit(pixels, records[:, self.label_bytes - 1].long(), self.normalise)

    def _read_python(self, folder: Path, name: str) -> TensorSplit:
        batch = _load_batch(read_member(folder, name), f"{folder / name}")
        pixels, labels = batch.get("data"), batch.get(self.label_key)
        if not isinstance(pixels, np.ndarray) or pixels.ndim != 2 or pixels.shape[1] != _PIXELS:
            raise DataError(f"{folder / name}: got no data of [N, {_PIXELS}], get it again")
        if not isinstance(labels, list) or len(labels) != len(pixels):
            raise DataError(f"{folder / name}: got no {self.label_key} for each image")
        images = torch.from_numpy(pixels.astype(np.uint8)).reshape(-1, 3, 32, 32)
        return TensorSplit(images, torch.tensor(labels, dtype=torch.int64), self.normalise)


class _ArrayUnpickler(pickle.Unpickler):
    """Unpickles dictionaries of arrays and refuses everything that could run code."""

    _ALLOWED: ClassVar[set[tuple[str, str]]] = {
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("_codecs", "encode"),
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not an array")
        return super().find_class(module, name)


def _load_batch(content: bytes, subject: str) -> dict[str, Any]:
    try:
        batch = _ArrayUnpickler(io.BytesIO(content), encoding="latin1").load()
    # A damaged pickle raises nearly anything.
    except Exception as error:
        raise DataError(f"{subject}: cannot be read ({error}), get the file again") from None
    if not isinstance(batch, dict):
        raise DataError(f"{subject}: got {type(batch).__name__}, expected a CIFAR batch")
    return batch


@register("cifar-10")
class Cifar10(_Cifar):
    """Photographs of ten kinds of things, 32×32 colour, 50,000 + 10,000 images.

    Reference: Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009.
    """

    about = "photographs, 32x32 colour, 50,000 + 10,000, 10 classes"
    files = "cifar-10-batches-bin/, cifar-10-batches-py/ or one of their .tar.gz"
    torchvision_name = "CIFAR10"
    binary_folder = "cifar-10-batches-bin"
    python_folder = "cifar-10-batches-py"
    binary_parts = (tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
    python_parts = (tuple(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
    label_bytes = 1
    label_key = "labels"
    classes = (
        "airplane",
        "automobile",
        "bird",
        "cat",
        "deer",
        "dog",
        "frog",
        "horse",
        "ship",
        "truck",
    )
    default_mean = (0.4914, 0.4822, 0.4465)
    default_std = (0.2470, 0.2435, 0.2616)


@register("cifar-100")
class Cifar100(_Cifar):
    """Photographs of a hundred kinds of things (the fine labels), 32×32 colour.

    Reference: Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009.
    """

    about = "photographs, 32x32 colour, 50,000 + 10,000, 100 classes"
    files = "cifar-100-binary/, cifar-100-python/ or one of their .tar.gz"
    torchvision_name = "CIFAR100"
    binary_folder = "cifar-100-binary"
    python_folder = "cifar-100-python"
    binary_parts = (("train.bin",), "test.bin")
    python_parts = (("train",), "test")
    label_bytes = 2
    label_key = "fine_labels"
    classes = CIFAR100_CLASSES
    default_mean = (0.5071, 0.4865, 0.4409)
    default_std = (0.2673, 0.2564, 0.2762)
