"""Finds the operator library and asks it about its kernels."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import Any

import bnndeploy
from bnndeploy.errors import ModelFileError

_LIBRARY = "libbnndeploy_ops.so"


def get_library_path() -> Path:
    """Returns the absolute path of the operator library, for ``register_custom_ops_library``.

    ``BNNDEPLOY_LIBRARY`` names another build (sanitizers, another compiler).

    Raises:
        ModelFileError: If no library is there.
    """
    if chosen := os.environ.get("BNNDEPLOY_LIBRARY"):
        candidates = [Path(chosen)]
    else:
        # An editable install has two folders: the sources and the built files.
        candidates = [Path(folder) / "lib" / _LIBRARY for folder in bnndeploy.__path__]
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    raise ModelFileError(
        f"operator library: got nothing at {', '.join(map(str, candidates))}, expected "
        f"{_LIBRARY}; install bnndeploy with a C++ compiler at hand (pip install .), or run the "
        "model without it (portable=True)"
    )


def kernel_report() -> dict[str, Any]:
    """Returns which kernel variants the library has and which it chooses on this machine."""
    library = ctypes.CDLL(str(get_library_path()))
    library.BnnDeployKernels.restype = ctypes.c_char_p
    report: dict[str, Any] = json.loads(library.BnnDeployKernels().decode())
    return report
