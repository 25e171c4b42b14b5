"""Chooses the execution providers of a session."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from bnndeploy.errors import ModelFileError
from bnndeploy.runtime.library import get_cuda_library_path

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"

# A provider's name, or the name with its options, as onnxruntime takes it.
Provider = str | tuple[str, dict[str, Any]]


def cuda_devices() -> int:
    """Returns how many devices the CUDA driver answers for; 0 without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def choose_providers(
    wanted: Sequence[Provider] | None, available: Sequence[str], *, portable: bool
) -> list[Provider]:
    """Returns the providers to ask onnxruntime for, best first.

    None takes CUDA if onnxruntime has it, our CUDA kernels are built and a device answers, and
    the CPU otherwise; in portable mode the CPU, where the functions' results are promised.

    Raises:
        ModelFileError: If a wanted provider is not in this onnxruntime.
    """
    if wanted is None:
        with_cuda = not portable and CUDA in available and get_cuda_library_path() is not None
        return [CUDA, CPU] if with_cuda and cuda_devices() > 0 else [CPU]
    for name in map(provider_name, wanted):
        if name not in available:
            raise ModelFileError(
                f"execution provider {name}: not in this onnxruntime, which has "
                f"{', '.join(available)}; install the extra that brings it ([gpu] for CUDA), or "
                "ask for another"
            )
    return list(wanted)


def check_active(wanted: Sequence[Provider], active: Sequence[str]) -> None:
    """Refuses a session in which a wanted provider silently fell away.

    onnxruntime only warns when a provider's own libraries cannot be loaded.

    Raises:
        ModelFileError: If a wanted provider is not active.
    """
    lost = [name for name in map(provider_name, wanted) if name not in active]
    if lost:
        raise ModelFileError(
            f"execution provider {', '.join(lost)}: onnxruntime could not start it and offers "
            f"{', '.join(active)}; check the driver and the CUDA libraries (bnndeploy doctor)"
        )


def provider_name(provider: Provider) -> str:
    """Returns the name without the options."""
    return provider if isinstance(provider, str) else provider[0]
