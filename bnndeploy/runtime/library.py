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
_CUDA_LIBRARY = "libbnndeploy_ops_cuda.so"


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


def get_cuda_library_path() -> Path | None:
    """Returns the CUDA kernels' library, which the operator library opens itself, or None."""
    candidate = get_library_path().with_name(_CUDA_LIBRARY)
    return candidate if candidate.is_file() else None


def cuda_library_fault() -> str | None:
    """Returns what is wrong, to follow the words "the CUDA kernels"; None if nothing is.

    Raises:
        ModelFileError: If the operator library is missing.
    """
    if get_cuda_library_path() is None:
        return "are not built"
    report = kernel_report().get("cuda") or {"error": "the operator library is older"}
    return f"cannot be loaded ({report['error']})" if "error" in report else None


def kernel_report() -> dict[str, Any]:
    """Returns which kernel variants the library has and which it chooses on this machine.

    Raises:
        ModelFileError: If the library is missing, cannot be opened or has no such report, or if
            ``BNNDEPLOY_ISA`` has an unknown value.
    """
    path = get_library_path()
    try:
        library = ctypes.CDLL(str(path))
        library.BnnDeployKernels.restype = ctypes.c_char_p
        report: dict[str, Any] = json.loads(library.BnnDeployKernels().decode())
    except (OSError, AttributeError, ValueError) as error:
        raise ModelFileError(
            f"operator library {path}: cannot be asked about its kernels ({error}); expected the "
            "library of this bnndeploy version, install it again (pip install .)"
        ) from error
    if "error" in report:
        raise ModelFileError(f"operator library: {report['error']}")
    return report
