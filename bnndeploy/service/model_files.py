"""Finds the model files of a service: one file, or a repository folder.

A repository holds ``<name>/<version>/model.onnx``; versions are positive numbers. Other files and
folders are left alone, so a Triton repository with its ``config.pbtxt`` can be served as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bnndeploy.errors import ModelFileError

MODEL_FILE = "model.onnx"


@dataclass(frozen=True)
class ModelFile:
    """Names a file and the state in which it was found."""

    path: Path
    state: tuple[int, int, int]  # inode, nanoseconds of the last change, size

    @classmethod
    def at(cls, path: Path) -> ModelFile | None:
        """Returns the file as it is now, or None if there is none."""
        try:
            found = path.stat()
        except OSError:
            return None
        return cls(path, (found.st_ino, found.st_mtime_ns, found.st_size))


Files = Mapping[tuple[str, int], ModelFile]


def find_models(source: Path, name: str | None = None) -> Files:
    """Returns the model files by name and version; a single file is version 1.

    Args:
        source: Model file or repository folder.
        name: Name under which a single file is served; the file's own by default.

    Raises:
        ModelFileError: If the source is neither, or the folder cannot be read.
    """
    if source.is_dir():
        return _find_versions(source)
    file = ModelFile.at(source)
    if file is None:
        raise ModelFileError(
            f"{source}: got no such file or folder, expected an ONNX model or a repository of "
            f"<name>/<version>/{MODEL_FILE}"
        )
    return {(name or source.stem, 1): file}


def _find_versions(folder: Path) -> Files:
    found = {}
    try:
        for path in sorted(folder.glob(f"*/*/{MODEL_FILE}")):
            name, version = path.parts[-3], path.parts[-2]
            # "1" and "01" would be one version.
            is_version = version.isascii() and version.isdigit() and version[0] != "0"
            if is_version and (file := ModelFile.at(path)):
                found[name, int(version)] = file
    except OSError as error:
        raise ModelFileError(f"{folder}: cannot be read ({error.strerror})") from error
    return found
