"""``bnndeploy inspect``: shows what a model file or a run holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, echo

from bnndeploy.cli._output import Json, emit_json, table

if TYPE_CHECKING:
    from bnndeploy.inspection.model_file import FileReport, Shape
    from bnndeploy.inspection.trained_run import RunReport

_LONGEST = 100  # characters of one metadata value


def inspect(
    source: Annotated[
        str, Argument(help="An ONNX file, a run directory, a recipe, or a network of the zoo.")
    ],
    weights: Annotated[str, Option(help="Of a network: trained, or random (seeded).")] = "trained",
    as_json: Json = False,
) -> None:
    """Show the nodes or layers of a model with their shapes, bits and bytes."""
    path = Path(source)
    if path.suffix == ".onnx" or (path.is_file() and path.suffix != ".toml"):
        _inspect_file(path, as_json)
    else:
        _inspect_run(source, weights, as_json)


def _inspect_file(path: Path, as_json: bool) -> None:
    from bnndeploy.inspection.model_file import inspect_file

    report = inspect_file(path)
    if as_json:
        emit_json({**asdict(report), "constant_bytes": report.constant_bytes})
    else:
        echo(format_file(report))


def _inspect_run(source: str, weights: str, as_json: bool) -> None:
    from bnndeploy.inspection.trained_run import inspect_run

    report = inspect_run(source, weights)
    if as_json:
        emit_json(report.to_json())
    else:
        echo(format_run(report))


def format_file(report: FileReport) -> str:
    """Lays out nodes, totals and metadata of a file."""
    rows = [
        (
            node.name,
            node.op,
            _shape(node.input),
            _shape(node.output),
            "" if node.weight_bits is None else f"{node.input_bits} x {node.weight_bits}",
            node.weights,
            node.bytes,
            f"{node.float32_bytes / node.bytes:.1f}x" if node.bytes else "",
        )
        for node in report.nodes
    ]
    header = ("node", "operator", "input", "output", "bits", "weights", "bytes", "smaller")
    kinds = ", ".join(
        f"{kind.replace('_', '-')} {size:,}" for kind, size in report.bytes_by_kind.items() if size
    )
    intact = {None: "no hash", True: "weights intact", False: "WEIGHTS CHANGED SINCE THE EXPORT"}
    return "\n".join(
        [
            table(header, rows),
            "",
            f"{report.path}: {report.size:,} bytes ({kinds})",
            f"constants: {report.constant_bytes:,} bytes, {report.float32_bytes:,} with every "
            f"weight in float32: {_ratio(report.float32_bytes, report.constant_bytes)} smaller",
            *_packed_line(report),
            f"metadata ({intact[report.weights_intact]})",
            *_metadata_lines(report.metadata),
        ]
    )


def format_run(report: RunReport) -> str:
    """Lays out layers, totals, metrics and recipe of a run."""
    from bnndeploy.training.recipe import to_toml

    rows = [
        (
            layer.name,
            layer.kind,
            _shape(layer.output_shape),
            layer.counts.binary_parameters,
            layer.counts.ternary_parameters,
            layer.counts.float_parameters,
            layer.counts.macs,
            layer.counts.packed_bytes,
        )
        for layer in report.summary.layers
    ]
    header = ("layer", "kind", "output", "1-bit", "ternary", "float", "MACs", "bytes")
    total = report.summary.total
    return "\n".join(
        [
            table(header, rows),
            "",
            f"{report.name}: {total.parameters:,} parameters, {total.macs:,} multiply-accumulates",
            f"parameters: {total.packed_bytes:,} bytes packed, {total.float32_bytes:,} in float32: "
            f"{_ratio(total.float32_bytes, total.packed_bytes)} smaller",
            *_metadata_lines({"input": report.input, "classes": report.classes, **report.metrics}),
            "",
            to_toml(report.recipe).rstrip(),
        ]
    )


def _packed_line(report: FileReport) -> list[str]:
    """Compares the layers with 1-bit or ternary weights alone."""
    packed = [node for node in report.nodes if node.weight_bits in (1, 2)]
    if not packed:
        return []
    size = sum(node.bytes for node in packed)
    floats = sum(node.float32_bytes for node in packed)
    return [
        f"of these, {len(packed)} layers of 1-bit or ternary weights: {size:,} bytes, "
        f"{floats:,} in float32: {_ratio(floats, size)} smaller"
    ]


def _metadata_lines(values: Mapping[str, Any]) -> list[str]:
    width = max((len(key) for key in values), default=0)
    lines = []
    for key, value in values.items():
        text = json.dumps(value, default=str)
        lines.append(
            f"  {key:<{width}}  {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}"
        )
    return lines


def _shape(shape: Shape | None) -> str:
    return "?" if shape is None else " ".join(map(str, shape))


def _ratio(larger: int, smaller: int) -> str:
    return f"{larger / smaller:.1f} times" if smaller else "not"
