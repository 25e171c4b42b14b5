"""Writes a model repository for Triton's onnxruntime backend, with our kernels.

::

    <output>/<name>/config.pbtxt            shapes, batching, where the operator library is
    <output>/<name>/labels.txt              class names, for the classification extension
    <output>/<name>/libbnndeploy_ops.so     and libbnndeploy_ops_cuda.so, where that is built
    <output>/<name>/1/model.onnx

Triton loads the library by its absolute path, so the configuration holds the path at which the
repository will be mounted. ``bnndeploy serve <output>`` serves the same folder.

Reference: Triton's ``model_config.proto``, ModelOperations.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

from bnndeploy.bundle._folder import copy_file, copy_model, new_folder
from bnndeploy.errors import ExportError
from bnndeploy.runtime import InferenceSession, get_library_path
from bnndeploy.runtime.library import get_cuda_library_path
from bnndeploy.runtime.providers import CPU
from bnndeploy.runtime.signature import Signature, TensorSpec, read_signature

MOUNT = PurePosixPath("/models")  # where Triton's containers expect the repository
_LABELS = "labels.txt"
_VERSION = "1"


def write_triton_repository(
    model: Path,
    output: Path,
    *,
    name: str | None = None,
    mount: PurePosixPath = MOUNT,
    max_batch: int = 32,
    max_delay_us: int = 0,
    force: bool = False,
) -> list[Path]:
    """Writes the repository and returns its files.

    Args:
        model: The ONNX file.
        output: Folder to make.
        name: Name of the model; the file's own by default.
        mount: Absolute path at which Triton will see ``output``.
        max_batch: Rows that Triton may join.
        max_delay_us: Microseconds for which it waits for more rows.
        force: Replaces an existing folder.

    Raises:
        ModelFileError: If the model cannot be loaded, or the library is missing.
        ExportError: If the folder exists or cannot be written, or ``mount`` is not absolute.
    """
    if not mount.is_absolute():
        raise ExportError(
            f"mount: got {mount}, expected the absolute path at which Triton sees the repository, "
            "such as /models"
        )
    name = name or model.stem
    library = get_library_path()
    # Loading it here proves that the model and this library fit.
    session = InferenceSession(model, providers=[CPU])
    signature = read_signature(session)
    labels = _labels(session.read_metadata().classes, signature)
    with new_folder(output, force) as folder:
        home = folder / name
        copy_model(model, home / _VERSION / "model.onnx")
        for source in filter(None, (library, get_cuda_library_path())):
            copy_file(source, home / source.name)
        if labels:
            (home / _LABELS).write_text("".join(f"{label}\n" for label in labels), "utf-8")
        config = _config(
            name,
            signature,
            mount / name / library.name,
            max_batch=max_batch,
            max_delay_us=max_delay_us,
            labelled=bool(labels),
        )
        (home / "config.pbtxt").write_text(config, "utf-8")
        files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return [output / path for path in files]


def _labels(classes: tuple[str, ...], signature: Signature) -> tuple[str, ...]:
    """The class names, if the first output has one value for each; a line holds one name."""
    first = next(iter(signature.outputs.values()))
    fits = classes and first.sizes[-1:] == [len(classes)]
    return classes if fits and not any("\n" in label for label in classes) else ()


def _config(
    name: str,
    signature: Signature,
    library: PurePosixPath,
    *,
    max_batch: int,
    max_delay_us: int,
    labelled: bool,
) -> str:
    """Writes ModelConfig in protobuf's text format."""
    batched = signature.batched
    inputs = [_tensor(spec, batched) for spec in signature.inputs.values()]
    outputs = [
        _tensor(spec, batched, labelled and index == 0)
        for index, spec in enumerate(signature.outputs.values())
    ]
    lines = [
        f"name: {json.dumps(name)}",
        'backend: "onnxruntime"',
        f"max_batch_size: {max_batch if batched else 0}",
        *(f"input {{ {text} }}" for text in inputs),
        *(f"output {{ {text} }}" for text in outputs),
    ]
    if batched:
        lines.append(f"dynamic_batching {{ max_queue_delay_microseconds: {max_delay_us} }}")
    # A GPU needs the CUDA library beside; whoever has both writes KIND_GPU.
    lines.append("instance_group { kind: KIND_CPU }")
    lines.append(f"model_operations {{ op_library_filename: {json.dumps(str(library))} }}")
    return "\n".join(lines) + "\n"


def _tensor(spec: TensorSpec, batched: bool, labelled: bool = False) -> str:
    dims = spec.sizes[1:] if batched else spec.sizes
    label_file = f" label_filename: {json.dumps(_LABELS)}" if labelled else ""
    return f"name: {json.dumps(spec.name)} data_type: {spec.triton_type} dims: {dims}{label_file}"
