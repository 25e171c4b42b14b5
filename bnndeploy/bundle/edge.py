"""Writes a folder that runs a model on a machine without Python.

::

    <output>/bnndeploy_run              classifies images: bnndeploy_run --top 3 image.pgm
    <output>/model.onnx
    <output>/input.txt                  how a pixel becomes an input, and the classes
    <output>/lib/libbnndeploy_ops.so
    <output>/lib/libonnxruntime.so.1    of the onnxruntime wheel, with its license
    <output>/manifest.json              what this is; size and SHA-256 of every file
    <output>/SHA256SUMS                 the same sums, for sha256sum -c
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import bnndeploy
from bnndeploy.bundle._elf import TARGETS, target_of
from bnndeploy.bundle._folder import copy_file, copy_model, new_folder, sha256
from bnndeploy.errors import ExportError, ModelFileError
from bnndeploy.runtime import Classifier, InferenceSession, get_library_path
from bnndeploy.runtime.providers import CPU

RUNNER = "bnndeploy_run"
_FORMAT = 1
_ONNXRUNTIME = "libonnxruntime.so.1"
_LICENSES = ("LICENSE", "ThirdPartyNotices.txt")


def write_edge_bundle(
    model: Path,
    output: Path,
    target: str,
    *,
    onnxruntime: Path | None = None,
    force: bool = False,
) -> list[Path]:
    """Writes the bundle and returns its files.

    The runner and the operator library are those of this installation, or those beside
    ``BNNDEPLOY_LIBRARY``; they must be built for the target.

    Args:
        model: An image classifier that bnndeploy export wrote.
        output: Folder to make.
        target: linux-x86_64 or linux-aarch64.
        onnxruntime: ``libonnxruntime.so`` for the target; this installation's by default.
        force: Replaces an existing folder.

    Raises:
        ModelFileError: If the model cannot be loaded or classifies no images.
        ExportError: If a part is missing or for another target, or the folder cannot be written.
    """
    if target not in TARGETS:
        raise ExportError(f"target: got {target!r}, expected {' or '.join(TARGETS)}")
    classifier = Classifier(InferenceSession(model, providers=[CPU], portable=True))
    library = get_library_path()
    parts = {
        f"lib/{library.name}": library,
        RUNNER: library.with_name(RUNNER),
        f"lib/{_ONNXRUNTIME}": onnxruntime or _installed_onnxruntime(),
    }
    for name, part in parts.items():
        _check(name, part, target)
    for name in _LICENSES if onnxruntime is None else ():
        parts[f"lib/onnxruntime-{name}"] = _onnxruntime_folder() / name
    with new_folder(output, force) as folder:
        copy_model(model, folder / "model.onnx")
        for name, part in parts.items():
            copy_file(part, folder / name)
        (folder / RUNNER).chmod(0o755)
        (folder / "input.txt").write_text(_describe(classifier), "utf-8")
        files = _write_sums(folder, target, model, classifier)
    return [output / name for name in files]


def _check(name: str, part: Path, target: str) -> None:
    if not part.is_file():
        raise ExportError(
            f"{name}: got nothing at {part}, expected the part for {target}; install bnndeploy "
            "with a C++ compiler at hand (pip install .)"
        )
    found = target_of(part)
    if found != target:
        raise ExportError(
            f"{name}: got {part} for {found}, expected {target}; set BNNDEPLOY_LIBRARY to a build "
            "for the target and give its onnxruntime with --onnxruntime"
        )


def _onnxruntime_folder() -> Path:
    spec = importlib.util.find_spec("onnxruntime")
    assert spec is not None  # a session has been made
    assert spec.origin is not None
    return Path(spec.origin).parent


def _installed_onnxruntime() -> Path:
    found = sorted((_onnxruntime_folder() / "capi").glob("libonnxruntime.so.*"))
    if not found:
        raise ExportError(
            "libonnxruntime.so: is not in the installed onnxruntime; give it with --onnxruntime"
        )
    return found[0]


def _describe(classifier: Classifier) -> str:
    """Writes input.txt; custom_ops/runner/description.h says how it is read."""
    spec = classifier.spec
    if any("\n" in label for label in classifier.metadata.classes):
        raise ModelFileError("metadata bnndeploy.classes: a name has two lines, expected one")
    lines = [
        f"image {_numbers(spec.shape)}",
        f"input {_numbers(classifier.row_shape)}",
        f"mean {_numbers(spec.mean)}",
        f"std {_numbers(spec.std)}",
        *(f"class {label}" for label in classifier.metadata.classes),
    ]
    return "".join(f"{line}\n" for line in lines)


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(repr(value) for value in values)


def _write_sums(folder: Path, target: str, model: Path, classifier: Classifier) -> list[str]:
    """Writes the manifest and the sums; returns the names of all files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files}
    sums = {name: sha256(path) for name, path in names.items()}
    manifest: dict[str, Any] = {
        "format": _FORMAT,
        "bnndeploy": bnndeploy.__version__,
        "target": target,
        "model": {
            "name": classifier.metadata.values.get("name", model.stem),
            "classes": len(classifier.metadata.classes),
            "weights_sha256": classifier.metadata.values.get("weights_sha256"),
        },
        "files": {
            name: {"bytes": path.stat().st_size, "sha256": sums[name]}
            for name, path in names.items()
        },
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    lines = [f"{digest}  {name}\n" for name, digest in sums.items()]
    (folder / "SHA256SUMS").write_text("".join(lines), "utf-8")
    return [*names, "manifest.json", "SHA256SUMS"]
