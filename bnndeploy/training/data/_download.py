"""Downloads a data set through torchvision, only when the user asks for it."""

from __future__ import annotations

from pathlib import Path

from bnndeploy.errors import DataError, MissingExtraError


def download_with_torchvision(dataset: str, root: Path | None) -> None:
    """Lets ``torchvision.datasets.<dataset>`` fetch its files below ``root``.

    Raises:
        DataError: there is no folder to write to, or the download failed.
    """
    if root is None:
        raise DataError("data: got no folder to download into, expected --data DIR")
    try:
        from torchvision import datasets
    except ImportError:
        raise MissingExtraError("torchvision", "train") from None
    splits = ("train", "test") if dataset == "SVHN" else (True, False)
    try:
        for split in splits:
            key = "split" if isinstance(split, str) else "train"
            getattr(datasets, dataset)(str(root), download=True, **{key: split})
    except (OSError, RuntimeError) as error:
        raise DataError(f"data: {dataset} could not be downloaded: {error}") from None
