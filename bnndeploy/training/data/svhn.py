"""Street View House Numbers from their MATLAB files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from bnndeploy.errors import DataError
from bnndeploy.training.data._base import Dataset, TensorSplit, register
from bnndeploy.training.data._download import download_with_torchvision
from bnndeploy.training.data._files import find_folder


@register("svhn")
class Svhn(Dataset):
    """House numbers, cropped digits, 32×32 colour, 73,257 + 26,032 images.

    Reference: Netzer et al., "Reading Digits in Natural Images with Unsupervised Feature
    Learning", 2011.
    """

    about = "house numbers, 32x32 colour, 73,257 + 26,032"
    files = "train_32x32.mat and test_32x32.mat, in SVHN/ or the folder itself"
    shape = (3, 32, 32)
    classes = tuple("0123456789")
    default_mean = (0.4377, 0.4438, 0.4728)
    default_std = (0.1980, 0.2010, 0.1970)

    def read(self, root: Path | None, download: bool) -> tuple[TensorSplit, TensorSplit]:
        if download:
            download_with_torchvision("SVHN", root)
        folder = find_folder(root, ("SVHN", "svhn", "."), ("train_32x32.mat",))
        train = replace(self._read(folder / "train_32x32.mat"), augment=self.augment)
        return train, self._read(folder / "test_32x32.mat")

    def _read(self, path: Path) -> TensorSplit:
        from scipy.io import loadmat

        try:
            content = loadmat(str(path))
            pixels, labels = content["X"], content["y"]
        # A damaged file raises nearly anything.
        except Exception as error:
            raise DataError(f"{path}: cannot be read ({error}), get the file again") from None
        if pixels.ndim != 4 or pixels.shape[:3] != (32, 32, 3) or labels.size != pixels.shape[3]:
            raise DataError(
                f"{path}: got images of {list(pixels.shape)} and {labels.size} labels, "
                "expected [32, 32, 3, N] and N"
            )
        images = torch.from_numpy(np.ascontiguousarray(pixels.transpose(3, 2, 0, 1)))
        digits = torch.from_numpy(labels.reshape(-1).astype(np.int64)) % 10  # 10 stands for 0
        return TensorSplit(images.to(torch.uint8), digits, self.normalise)
