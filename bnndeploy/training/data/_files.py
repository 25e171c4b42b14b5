"""Finds the files of a data set below the folder the user gave, extracted or in their archive."""

from __future__ import annotations

import tarfile
import zlib
from pathlib import Path

from bnndeploy.errors import DataError


def find_folder(root: Path | None, folders: tuple[str, ...], names: tuple[str, ...]) -> Path:
    """Returns the first of the folders below ``root`` that holds one of the named files.

    Raises:
        DataError: none does, or there is no root.
    """
    place = _look(root, folders, names)
    if place is None:
        looked = ", ".join(str(Path(str(root)) / folder) for folder in folders)
        raise DataError(
            f"data: no {' or '.join(names)} in {looked}; give the folder with --data, "
            "or ask for it with --download"
        )
    return place


def has_files(root: Path | None, folders: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Tells whether ``find_folder`` would find one."""
    return _look(root, folders, names) is not None


def read_member(folder: Path, name: str) -> bytes:
    """Reads a file of a folder, or of a .tar.gz archive that stands in its place.

    Raises:
        DataError: it is missing or cannot be read.
    """
    try:
        if folder.is_dir():
            return (folder / name).read_bytes()
        with tarfile.open(folder) as archive:
            for member in archive:
                if member.isfile() and Path(member.name).name == name:
                    file = archive.extractfile(member)
                    assert file is not None
                    return file.read()
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        raise DataError(f"{folder}: {name} cannot be read ({error}), get it again") from None
    raise DataError(f"{folder}: holds no {name}, expected the data set's own archive")


def _look(root: Path | None, folders: tuple[str, ...], names: tuple[str, ...]) -> Path | None:
    if root is None:
        raise DataError("data: got no folder, expected --data DIR")
    for folder in folders:
        if any((root / folder / name).is_file() for name in names):
            return root / folder
    return None
