"""``bnndeploy bundle``: packs a model with what it needs on another machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option, echo


def bundle(
    model: Annotated[Path, Argument(help="The ONNX file.")],
    output: Annotated[Path, Option("--output", "-o", help="The folder to make.")],
    target: Annotated[
        str | None, Option(help="linux-x86_64 or linux-aarch64: runs without Python.")
    ] = None,
    triton: Annotated[bool, Option("--triton", help="A model repository for Triton.")] = False,
    name: Annotated[str | None, Option(help="With --triton: the model's name.")] = None,
    mount: Annotated[
        str, Option(help="With --triton: absolute path at which it sees the folder.")
    ] = "/models",
    onnxruntime: Annotated[
        Path | None, Option(help="With --target: libonnxruntime.so for another machine.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace an existing folder.")] = False,
) -> None:
    """Pack a model for Triton, or for a machine without Python."""
    if triton == (target is not None):
        raise BadParameter("give either --triton or --target")
    if triton:
        from pathlib import PurePosixPath

        from bnndeploy.bundle.triton import write_triton_repository

        files = write_triton_repository(
            model, output, name=name, mount=PurePosixPath(mount), force=force
        )
    else:
        from bnndeploy.bundle.edge import write_edge_bundle

        files = write_edge_bundle(model, output, str(target), onnxruntime=onnxruntime, force=force)
    for path in files:
        echo(f"{path}  {path.stat().st_size:,} bytes")
