"""Writes files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bnndeploy.errors import CheckpointError


def write_bytes(path: Path, content: bytes) -> None:
    """Replaces the file in one step: a kill leaves the old content or the new one.

    Raises:
        CheckpointError: If the folder cannot be written to.
    """
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be written ({error}), check the folder") from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)  # mkstemp makes private files
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise CheckpointError(f"{path}: cannot be written ({error})") from None


def write_text(path: Path, content: str) -> None:
    """Replaces a UTF-8 text file in one step."""
    write_bytes(path, content.encode())
