"""Finds the files of a data set below the folder the user gave."""

from __future__ import annotations

from pathlib import Path

from bnndeploy.errors import DataError


def find_folder(root: Path | None, folders: tuple[str, ...], names: tuple[str, ...]) -> Path:
    """Returns the first of the folders below ``root`` that holds one of the named files.

    Raises:
        DataError: none does, or there is no root.
    """
    if root is None:
        raise DataError("data: got no folder, expected --data DIR")
    for folder in folders:
        if any((root / folder / name).is_file() for name in names):
            return root / folder
    looked = ", ".join(str(root / folder) for folder in folders)
    raise DataError(
        f"data: no {' or '.join(names)} in {looked}; give the folder with --data, "
        "or ask for it with --download"
    )
