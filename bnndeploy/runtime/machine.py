"""What this machine offers: processor, usable threads, NVIDIA devices."""

from __future__ import annotations

import math
import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")
_CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_GPU_FIELDS = ("name", "memory.total", "driver_version", "compute_cap")


@dataclass(frozen=True)
class Gpu:
    """Describes a device as nvidia-smi does."""

    name: str
    memory: str
    driver: str
    compute_capability: str


def cpu_name() -> str:
    """Returns the processor's name, or its architecture where the system tells no more."""
    try:
        lines = _CPU_INFO.read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def visible_threads() -> int:
    """Returns how many hardware threads the process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_quota() -> int | None:
    """Returns the processors that a container's limit amounts to, rounded up; None without one."""
    try:
        quota, period = _CPU_QUOTA.read_text().split()
        return None if quota == "max" else math.ceil(int(quota) / int(period))
    except (OSError, ValueError):
        return None


def gpus() -> list[Gpu]:
    """Returns the NVIDIA devices; none without a working driver."""
    command = ["nvidia-smi", f"--query-gpu={','.join(_GPU_FIELDS)}", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [[field.strip() for field in line.split(",")] for line in answer.stdout.splitlines()]
    return [Gpu(*row) for row in rows if len(row) == len(_GPU_FIELDS)]
