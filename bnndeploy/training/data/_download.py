"""Downloads a data set through torchvision, only when the user asks for it."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
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
        # It talks while it fetches; standard output belongs to the command's own answer.
        with redirect_stdout(sys.stderr):
            for split in splits:
                key = "split" if isinstance(split, str) else "train"
                getattr(datasets, dataset)(str(root), download=True, **{key: split})
    except (OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"data: {dataset} could not be downloaded ({reason}); check the connection, or put "
            f"its files below {root} yourself"
        ) from None
