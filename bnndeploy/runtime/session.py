"""onnxruntime's session with the operator library registered."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bnndeploy.errors import MissingExtraError, ModelFileError
from bnndeploy.runtime.library import get_library_path

try:
    import onnxruntime as ort
except ImportError as error:
    raise MissingExtraError("onnxruntime", "cpu] or [gpu") from error


class InferenceSession(ort.InferenceSession):  # type: ignore[misc]
    """Runs a model file with our kernels; otherwise it is ``onnxruntime.InferenceSession``.

    Args:
        model: Path of an ONNX file, or its bytes.
        providers: Execution providers; None takes the CPU.
        threads: Threads of the session's pool; None lets ONNX Runtime choose.
        portable: Runs the model's own functions in standard operators, without our library.
        options: Session options to start from (profiling, optimisation level).

    Raises:
        ModelFileError: If the file is missing, damaged or refused, or the library is missing.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | bytes,
        providers: Sequence[str] | None = None,
        threads: int | None = None,
        portable: bool = False,
        options: Any = None,
    ) -> None:
        options = options or ort.SessionOptions()
        if threads is not None:
            options.intra_op_num_threads = threads
        if not portable:
            options.register_custom_ops_library(str(get_library_path()))
        subject = "model" if isinstance(model, bytes) else str(model)
        if not isinstance(model, bytes) and not Path(model).is_file():
            raise ModelFileError(f"{subject}: got no such file, expected an ONNX model")
        source = model if isinstance(model, bytes) else str(model)
        try:
            super().__init__(source, options, providers=list(providers or ["CPUExecutionProvider"]))
        except Exception as error:  # onnxruntime raises its own class per status code
            raise ModelFileError(
                f"{subject}: ONNX Runtime cannot load it ({_first_line(error)}); expected a "
                "complete ONNX model, such as bnndeploy export writes"
            ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
