"""onnxruntime's session with the operator library registered."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bnndeploy.errors import ModelFileError
from bnndeploy.runtime.library import get_library_path
from bnndeploy.runtime.metadata import ModelMetadata, read_metadata
from bnndeploy.runtime.providers import (
    CUDA,
    Provider,
    check_active,
    choose_providers,
    preload_cuda,
    provider_name,
)
from bnndeploy.runtime.wheels import load_onnxruntime

ort = load_onnxruntime()
_Session: Any = ort.InferenceSession
_REGISTERED = "bnndeploy.library"  # our mark in the options; onnxruntime ignores it
_THREADS = "bnndeploy.threads"  # what our operators plan for; onnxruntime does not tell them


class InferenceSession(_Session):  # type: ignore[misc]
    """Runs a model file with our kernels; otherwise it is ``onnxruntime.InferenceSession``.

    Args:
        model: Path of an ONNX file, or its bytes.
        providers: Execution providers, best first; None takes CUDA if our CUDA kernels are built
            and a device answers, and the CPU otherwise.
        threads: Threads of the session's pool; None lets ONNX Runtime choose.
        portable: Runs the model's own functions in standard operators, without our library.
        options: Session options to start from (profiling, optimisation level).

    Raises:
        ModelFileError: If the file is missing, damaged or refused, the library is missing, or a
            provider that was asked for is.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | bytes,
        providers: Sequence[Provider] | None = None,
        threads: int | None = None,
        portable: bool = False,
        options: Any = None,
    ) -> None:
        subject = "model" if isinstance(model, bytes) else os.fspath(model)
        if not isinstance(model, bytes) and not Path(model).is_file():
            raise ModelFileError(f"{subject}: got no such file, expected an ONNX model")
        wanted = choose_providers(providers, ort.get_available_providers(), portable=portable)
        if CUDA in map(provider_name, wanted):
            preload_cuda(ort)
        options = options or ort.SessionOptions()
        if threads is not None:
            options.intra_op_num_threads = threads
        if not portable:
            _register_library(options)
        source = model if isinstance(model, bytes) else subject
        try:
            # Without the fallback onnxruntime reports the first error instead of retrying on CPU.
            super().__init__(source, options, providers=wanted, enable_fallback=0)
        except Exception as error:  # onnxruntime raises its own class per status code
            raise ModelFileError(
                f"{subject}: ONNX Runtime cannot load it ({_first_line(error)}); expected a "
                "complete ONNX model, such as bnndeploy export writes"
            ) from error
        check_active(wanted, self.get_providers())

    def read_metadata(self) -> ModelMetadata:
        """Returns what bnndeploy export wrote about the model."""
        return read_metadata(self.get_modelmeta().custom_metadata_map)


def _register_library(options: Any) -> None:
    """Registers our operators once: onnxruntime refuses options that hold a domain twice."""
    path = str(get_library_path())
    try:
        if options.get_session_config_entry(_REGISTERED) == path:
            return
    except RuntimeError:  # no such entry
        pass
    if options.intra_op_num_threads > 0:
        options.add_session_config_entry(_THREADS, str(options.intra_op_num_threads))
    try:
        options.register_custom_ops_library(path)
    except Exception as error:
        raise ModelFileError(
            f"operator library {path}: ONNX Runtime cannot use it ({_first_line(error)}); expected "
            "a build for this machine, install bnndeploy again (pip install .)"
        ) from error
    options.add_session_config_entry(_REGISTERED, path)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
