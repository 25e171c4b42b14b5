"""The 1,797 scanned digits that come with scikit-learn: real images without a download."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from bnndeploy.errors import MissingExtraError
from bnndeploy.training.data._base import Dataset, TensorSplit, register

_TEST_SHARE = 5  # one image in five


@register("digits")
class Digits(Dataset):
    """Handwritten digits, 8×8 grey values from 0 to 16, ten classes.

    The data set has no test part of its own; a fixed fifth is set aside, the same whatever
    the seed of the recipe.
    Reference: Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits", UCI, 1998.
    """

    about = "handwritten digits, 8x8 grey, bundled with scikit-learn"
    files = "none: installed with scikit-learn"
    range_max = 16
    shape = (1, 8, 8)
    classes = tuple("0123456789")
    default_mean = (0.3053,)
    default_std = (0.3760,)

    def read(self, root: Path | None, download: bool) -> tuple[TensorSplit, TensorSplit]:
        try:
            from sklearn.datasets import load_digits
        except ImportError:
            raise MissingExtraError("scikit-learn", "train") from None
        scans = load_digits()
        pixels = torch.from_numpy(scans.images).to(torch.uint8).unsqueeze(1)
        labels = torch.from_numpy(scans.target).to(torch.int64)
        whole = TensorSplit(pixels, labels, self.normalise)
        order = torch.randperm(len(whole), generator=torch.Generator().manual_seed(0))
        test = len(whole) // _TEST_SHARE
        train = replace(whole, augment=self.augment)
        return train.subset(order[test:]), whole.subset(order[:test])
