"""Looks at everything that deciding how and how fast a model runs here depends on."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import bnndeploy
from bnndeploy.errors import BnnDeployError
from bnndeploy.runtime import machine
from bnndeploy.runtime.extras import missing_packages
from bnndeploy.runtime.idle_gpu import (
    GpuFacts,
    driver_cuda,
    nvidia_on_bus,
    provider_fault,
    why_idle,
)
from bnndeploy.runtime.library import (
    cuda_library_fault,
    get_cuda_library_path,
    get_library_path,
    kernel_report,
)
from bnndeploy.runtime.providers import CUDA, cuda_devices
from bnndeploy.runtime.wheels import TWO_WHEELS, WHEELS, installed_wheels, load_onnxruntime

_OLDEST_TESTED = (1, 23)
# The step of the ladder in custom_ops/base/cpu.h that brings a popcount of whole registers.
_POPCOUNT = {"x86_64": "avx512vpopcnt", "aarch64": "neon"}


@dataclass
class Diagnosis:
    """Holds what was found; each problem and each hint is one line that says what to do."""

    python: str
    bnndeploy: str
    system: str
    cpu: str
    threads: int
    cpu_quota: int | None
    gpus: list[machine.Gpu]
    extras: dict[str, list[str]]
    wheels: dict[str, str]
    providers: list[str] = field(default_factory=list)
    build: str | None = None
    library: str | None = None
    cuda_library: str | None = None
    kernels: dict[str, Any] | None = None
    problems: list[str] = field(default_factory=list)
    faster: list[str] = field(default_factory=list)


def diagnose() -> Diagnosis:
    """Returns what this machine and installation have, what is wrong and what would be faster."""
    found = Diagnosis(
        python=platform.python_version(),
        bnndeploy=bnndeploy.__version__,
        system=platform.platform(),
        cpu=machine.cpu_name(),
        threads=machine.visible_threads(),
        cpu_quota=machine.cpu_quota(),
        gpus=machine.gpus(),
        extras=missing_packages(),
        wheels=installed_wheels(),
    )
    _look_at_library(found)
    _look_at_onnxruntime(found)
    found.faster = list(_faster(found))
    return found


def _look_at_library(found: Diagnosis) -> None:
    try:
        found.library = str(get_library_path())
        cuda_library = get_cuda_library_path()
        found.cuda_library = str(cuda_library) if cuda_library else None
        found.kernels = kernel_report()
    except BnnDeployError as error:
        found.problems.append(str(error))


def _look_at_onnxruntime(found: Diagnosis) -> None:
    if len(found.wheels) == len(WHEELS):
        found.problems.append(TWO_WHEELS)
    try:
        ort = load_onnxruntime()
    except BnnDeployError as error:
        if str(error) not in found.problems:
            found.problems.append(str(error))
        return
    found.providers = ort.get_available_providers()
    found.build = ort.get_build_info()
    version = tuple(int(part) for part in ort.__version__.split(".")[:2])
    if version < _OLDEST_TESTED:
        found.problems.append(
            f"onnxruntime {ort.__version__}: is older than what bnndeploy is tested with; "
            f"pip install -U 'onnxruntime>={'.'.join(map(str, _OLDEST_TESTED))}'"
        )
    if found.library:
        try:
            ort.SessionOptions().register_custom_ops_library(found.library)
        except Exception as error:  # onnxruntime raises its own class per status code
            found.problems.append(
                f"operator library {found.library}: onnxruntime {ort.__version__} refuses it "
                f"({str(error).splitlines()[0]}); install bnndeploy again (pip install .)"
            )


def _faster(found: Diagnosis) -> Iterator[str]:
    yield from _faster_on_cpu(found)
    on_bus = nvidia_on_bus()
    idle = why_idle(_gpu_facts(found, on_bus)) if found.gpus or on_bus else None
    if idle:
        yield idle


def _gpu_facts(found: Diagnosis, on_bus: bool) -> GpuFacts:
    return GpuFacts(
        gpus=found.gpus,
        on_bus=on_bus,
        driver_cuda=driver_cuda(),
        devices=cuda_devices(),
        providers=found.providers,
        provider_fault=provider_fault() if CUDA in found.providers else None,
        library_fault=cuda_library_fault() if found.library else "are not built",
    )


def _faster_on_cpu(found: Diagnosis) -> Iterator[str]:
    if found.cpu_quota and found.cpu_quota < found.threads:
        yield (
            f"the container may use {found.cpu_quota} of the {found.threads} threads it sees; "
            f"pass threads={found.cpu_quota} (--threads {found.cpu_quota}), or onnxruntime's pool "
            "is too large"
        )
    if not found.kernels:
        return
    isa = found.kernels["isa"]
    if isa["cap"] and isa["allowed"] != isa["supported"]:
        yield (
            f"BNNDEPLOY_ISA={isa['cap']} holds the kernels back, this processor has "
            f"{isa['supported'][-1]}; unset it"
        )
    best = _POPCOUNT.get(platform.machine())
    if best and best not in isa["supported"]:
        yield (
            f"this processor has no {best}; the same kernels run faster on one that has (Intel "
            "Ice Lake, AMD Zen 4 and later)"
        )
    portable = [
        name
        for name, kernel in found.kernels["kernels"].items()
        if "scalar" in kernel["variants"][0] and len(isa["supported"]) > 1
    ]
    if portable:
        yield (
            f"{', '.join(portable)}: this build has portable code only; install bnndeploy again "
            "with a newer compiler (GCC 12, Clang 15) if you chose an old one"
        )
