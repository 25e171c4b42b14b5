"""Says in one line why an NVIDIA device that is there is not used."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bnndeploy.runtime.machine import Gpu
from bnndeploy.runtime.providers import CUDA, load_driver

# The CUDA library holds code of CUDA 13 for compute capability 7.5 and later.
_OLDEST_CUDA = (13, 0)
_OLDEST_CAPABILITY = (7, 5)

_LOAD_PROVIDER = """
import ctypes, pathlib, onnxruntime
from bnndeploy.runtime.providers import preload_cuda
preload_cuda(onnxruntime)
folder = pathlib.Path(onnxruntime.__file__).parent / "capi"
for name in ("shared", "cuda"):
    path = folder / f"libonnxruntime_providers_{name}.so"
    ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
"""

_PCI = Path("/sys/bus/pci/devices")
_NVIDIA, _DISPLAY = "0x10de", "0x03"


@dataclass(frozen=True)
class GpuFacts:
    """What decides whether a device is used.

    Attributes:
        gpus: The devices that nvidia-smi names.
        on_bus: Whether the machine has an NVIDIA device, with or without a driver.
        driver_cuda: The newest CUDA that the driver speaks, None without a driver.
        devices: How many devices the driver answers for.
        providers: Those of the installed onnxruntime.
        provider_fault: Why onnxruntime's CUDA provider cannot be loaded, None if it can.
        library_fault: Why our CUDA library cannot be used, None if it can.
    """

    gpus: list[Gpu]
    on_bus: bool
    driver_cuda: tuple[int, int] | None
    devices: int
    providers: list[str]
    provider_fault: str | None
    library_fault: str | None


def why_idle(facts: GpuFacts) -> str | None:
    """Returns what is missing and what to do; None if the device is used or there is none."""
    if not facts.gpus and not facts.on_bus:
        return None
    name = facts.gpus[0].name if facts.gpus else "an NVIDIA device"
    reason = _missing_driver(facts) or _missing_package(facts)
    return f"{name} is idle: {reason}" if reason else None


def _missing_driver(facts: GpuFacts) -> str | None:
    if facts.driver_cuda is None:
        return (
            "the driver is missing (libcuda.so.1); install NVIDIA's driver, or start the container "
            "with --gpus all"
        )
    if facts.driver_cuda < _OLDEST_CUDA:
        return (
            f"the driver speaks CUDA {_dotted(facts.driver_cuda)}, the kernels need "
            f"{_dotted(_OLDEST_CUDA)}; update the driver to 580 or later"
        )
    if facts.devices == 0:
        return "the CUDA driver answers for no device; check nvidia-smi and CUDA_VISIBLE_DEVICES"
    capability = facts.gpus[0].compute_capability if facts.gpus else ""
    if capability and tuple(map(int, capability.split("."))) < _OLDEST_CAPABILITY:
        return (
            f"it has compute capability {capability}, the kernels need "
            f"{_dotted(_OLDEST_CAPABILITY)} (Turing) or later"
        )
    return None


def _missing_package(facts: GpuFacts) -> str | None:
    if CUDA not in facts.providers:
        return (
            "this onnxruntime has no CUDA; pip uninstall -y onnxruntime && pip install "
            '"bnndeploy[gpu]"'
        )
    if facts.provider_fault is not None:
        return (
            f"onnxruntime's CUDA provider cannot be loaded ({facts.provider_fault}); pip install "
            '"onnxruntime-gpu[cuda,cudnn]"'
        )
    if facts.library_fault is not None:
        return (
            f"the CUDA kernels {facts.library_fault}; install again with BNNDEPLOY_CUDA=1 pip "
            "install ."
        )
    return None


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def nvidia_on_bus() -> bool:
    """Tells whether an NVIDIA display or compute device sits on the PCI bus."""
    try:
        folders = list(_PCI.iterdir())
    except OSError:
        return False
    return any(
        _read(folder / "vendor") == _NVIDIA and _read(folder / "class").startswith(_DISPLAY)
        for folder in folders
    )


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def driver_cuda() -> tuple[int, int] | None:
    """Returns the newest CUDA that the driver speaks, None without a driver."""
    driver = load_driver()
    version = ctypes.c_int(0)
    if driver is None or driver.cuDriverGetVersion(ctypes.byref(version)) != 0:
        return None
    return version.value // 1000, version.value % 1000 // 10


def provider_fault() -> str | None:
    """Returns why onnxruntime's CUDA provider cannot be loaded, None if it can.

    Another process tries: loading the provider without a session may leave it unusable.
    """
    done = subprocess.run(
        [sys.executable, "-c", _LOAD_PROVIDER], capture_output=True, text=True, check=False
    )
    lines = done.stderr.strip().splitlines()
    return lines[-1].removeprefix("OSError: ") if done.returncode == 1 and lines else None
