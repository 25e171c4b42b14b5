"""Writes a folder whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bnndeploy.errors import ExportError


@contextmanager
def new_folder(target: Path, force: bool) -> Iterator[Path]:
    """Yields an empty folder that becomes ``target`` if the block ends without an error.

    Raises:
        ExportError: If the target exists and ``force`` is off, or cannot be written.
    """
    if target.exists() and not force:
        raise ExportError(f"{target}: exists already; choose another name or use --force")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as work:
            written = Path(work) / "new"
            written.mkdir()
            yield written
            if target.exists():
                target.rename(Path(work) / "old")
            written.rename(target)
    except OSError as error:
        raise ExportError(f"{target}: cannot be written ({error.strerror or error})") from error


def copy_file(source: Path, target: Path) -> None:
    """Copies the bytes and the permission to execute, and makes the folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    shutil.copymode(source, target)


def copy_model(source: Path, target: Path) -> None:
    """Copies a model, and the weights that a very large one has in a file beside it."""
    copy_file(source, target)
    weights = source.with_name(f"{source.name}.data")
    if weights.is_file():
        copy_file(weights, target.with_name(weights.name))  # the model refers to it by this name


def sha256(path: Path) -> str:
    """Returns the hash of a file, as ``sha256sum`` prints it."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
