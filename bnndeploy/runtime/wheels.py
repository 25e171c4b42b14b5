"""Loads onnxruntime, which comes in two wheels that must not be installed together."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

from bnndeploy.errors import BnnDeployError, MissingExtraError

WHEELS = ("onnxruntime", "onnxruntime-gpu")
TWO_WHEELS = (
    "onnxruntime and onnxruntime-gpu are both installed, and each overwrites the other's files; "
    "keep one: pip uninstall -y onnxruntime onnxruntime-gpu, then install one again"
)


def installed_wheels() -> dict[str, str]:
    """Returns the installed onnxruntime wheels and their versions."""
    return {name: version for name in WHEELS if (version := package_version(name))}


def package_version(distribution: str) -> str | None:
    """Returns the version of an installed distribution, or None; imports nothing."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def load_onnxruntime() -> Any:
    """Imports onnxruntime.

    Raises:
        MissingExtraError: If it is not installed.
        BnnDeployError: If a second wheel of the same module broke it.
    """
    try:
        ort = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise _missing() from error
    # After uninstalling one of two wheels an empty namespace package can remain.
    if not hasattr(ort, "InferenceSession"):
        raise _missing()
    return ort


def _missing() -> BnnDeployError:
    if len(installed_wheels()) == len(WHEELS):
        return BnnDeployError(TWO_WHEELS)
    return MissingExtraError("onnxruntime", "cpu", "gpu")
