"""Which extra brings a package that a command could not import."""

from __future__ import annotations

from bnndeploy.errors import MissingExtraError

_EXTRAS_BY_PACKAGES = {
    ("onnxruntime", "PIL"): ("cpu", "gpu"),
    ("onnx", "onnx_ir", "onnxscript", "matplotlib", "rich"): ("tools",),
    ("torch", "torchvision", "safetensors", "sklearn"): ("train",),
    ("fastapi", "starlette", "uvicorn", "prometheus_client"): ("serve",),
    ("ray",): ("ray",),
}
_EXTRAS = {
    package: extras for packages, extras in _EXTRAS_BY_PACKAGES.items() for package in packages
}


def explain(error: ModuleNotFoundError) -> MissingExtraError | None:
    """Returns the error that names the extra, or None if the module is of no extra of ours."""
    package = (error.name or "").split(".")[0]
    return MissingExtraError(package, *_EXTRAS[package]) if package in _EXTRAS else None
