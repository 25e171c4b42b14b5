"""Refuses data on which training would silently learn nothing, or something else."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from bnndeploy.errors import DataError
from bnndeploy.training.data._base import Split


def histogram(split: Split, classes: Sequence[str]) -> dict[str, int]:
    """Counts the images of each class."""
    counts = torch.bincount(split.labels, minlength=len(classes)).tolist()
    return dict(zip(classes, counts, strict=True))


def check_split(split: Split, classes: Sequence[str], subject: str) -> None:
    """Checks that a split has images of at least two of the declared classes.

    A folder with a single class gives label 0 everywhere: the loss falls to 0 and the accuracy
    reads 100 % while nothing is learnt.
    """
    if len(split) == 0:
        raise DataError(f"{subject}: got no images, expected at least one")
    top = int(split.labels.max())
    if top >= len(classes) or int(split.labels.min()) < 0:
        raise DataError(
            f"{subject}: got label {top}, expected labels 0 to {len(classes) - 1} "
            f"({len(classes)} classes); check the files or data.classes"
        )
    found = torch.unique(split.labels)
    if len(found) < 2:
        raise DataError(
            f"{subject}: got only the class {classes[int(found[0])]!r} in {len(split)} images, "
            "expected at least two classes; one class teaches nothing and reads as 100 %"
        )


def check_class_maps(train: Sequence[str], other: Sequence[str], subject: str) -> None:
    """Checks that two folders name the same classes, so that a label means the same in both."""
    if list(train) != list(other):
        only = sorted(set(train) ^ set(other))
        raise DataError(
            f"{subject}: got {len(other)} classes, expected the {len(train)} of the training "
            f"images; only in one of them: {', '.join(only[:5])}"
        )
