"""Reads the checkpoint files of torch."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import torch

from bnndeploy.errors import CheckpointError


def read_checkpoint(path: Path | str) -> dict[str, Any]:
    """Reads a file of ``torch.save`` onto the CPU without running any code that it may hold.

    Raises:
        CheckpointError: If the file is missing, damaged, or holds more than tensors and numbers.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise CheckpointError(
            f"checkpoint {path}: is no file of torch, or holds Python objects besides tensors; "
            "save model.state_dict() where it was trained"
        ) from None
    except (OSError, RuntimeError, EOFError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise CheckpointError(
            f"checkpoint {path}: cannot be read ({reason}), expected a file written by torch.save"
        ) from None
    if not isinstance(content, dict):
        raise CheckpointError(
            f"checkpoint {path}: got a {type(content).__name__}, expected a state_dict"
        )
    return content
