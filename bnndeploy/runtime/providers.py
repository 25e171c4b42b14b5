"""Chooses the execution providers of a session."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Sequence
from typing import Any

from bnndeploy.errors import ModelFileError
from bnndeploy.runtime.library import cuda_library_fault
from bnndeploy.runtime.wheels import load_onnxruntime

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"

# A provider's name, or the name with its options, as onnxruntime takes it.
Provider = str | tuple[str, dict[str, Any]]


def load_driver() -> Any:
    """Returns the CUDA driver's library, None without one."""
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def cuda_devices() -> int:
    """Returns how many devices the CUDA driver answers for; 0 without a driver."""
    driver = load_driver()
    count = ctypes.c_int(0)
    if driver is None or driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def preload_cuda(ort: Any) -> None:
    """Makes the CUDA libraries that pip installed known to onnxruntime's CUDA provider."""
    if hasattr(ort, "preload_dlls"):
        with contextlib.redirect_stdout(sys.stderr):  # it prints what it does not find
            ort.preload_dlls()


def cuda_runs() -> bool:
    """Tells whether our CUDA kernels can run here: onnxruntime, library and a device."""
    available = load_onnxruntime().get_available_providers()
    return choose_providers(None, available, portable=False)[0] == CUDA


def choose_providers(
    wanted: Sequence[Provider] | None, available: Sequence[str], *, portable: bool
) -> list[Provider]:
    """Returns the providers to ask onnxruntime for, best first.

    None takes CUDA if onnxruntime has it, our CUDA kernels are built and a device answers, and
    the CPU otherwise; in portable mode the CPU, where the functions' results are promised.

    Raises:
        ModelFileError: If a wanted provider is not in this onnxruntime, or CUDA is wanted but our
            CUDA kernels are not there.
    """
    if wanted is None:
        with_cuda = not portable and CUDA in available and cuda_library_fault() is None
        return [CUDA, CPU] if with_cuda and cuda_devices() > 0 else [CPU]
    for name in map(provider_name, wanted):
        if name not in available:
            raise ModelFileError(
                f"execution provider {name}: not in this onnxruntime, which has "
                f"{', '.join(available)}; install the extra that brings it ([gpu] for CUDA), or "
                "ask for another"
            )
        fault = cuda_library_fault() if name == CUDA and not portable else None
        if fault is not None:
            raise ModelFileError(
                f"execution provider {CUDA}: our CUDA kernels {fault}, expected them so that our "
                "nodes do not fall back to the CPU; install again with BNNDEPLOY_CUDA=1 pip "
                f"install ., or ask for {CPU}"
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
