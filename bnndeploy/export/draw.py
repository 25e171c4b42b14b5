"""Draws a graph before and after the passes, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from bnndeploy.errors import ExportError, MissingExtraError
from bnndeploy.ops.names import DOMAIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NODES = 150

_ROW, _COLUMN = 1.0, 2.6
_BOX = (2.3, 0.62)
_MARGIN = 0.6  # right of the boxes, for arrows that skip rows
_COLOURS = {
    "bits": ("#d7e8ff", "#2b62a8"),
    "ours": ("#e4f3e1", "#3b7d34"),
    "product": ("#fde7cf", "#a8651b"),
    "standard": ("#f1f1f1", "#6b6b6b"),
    "end": ("#ffffff", "#000000"),
}
_LINEAR = ("Conv", "Gemm", "MatMul")


@dataclass(frozen=True)
class _Box:
    label: str
    kind: str
    row: int
    column: int


@dataclass(frozen=True)
class _Layout:
    boxes: list[_Box]
    arrows: list[tuple[int, int, bool]]
    """From box, to box, whether it carries bits."""


def draw(before: onnx.ModelProto, after: onnx.ModelProto, path: str | Path, title: str) -> None:
    """Writes a picture of two graphs; blue arrows carry packed bits.

    Raises:
        ExportError: If a graph is too long to be read in a picture.
        MissingExtraError: If matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "tools") from error

    layouts = [_lay_out(model) for model in (before, after)]
    longest = max(len(layout.boxes) for layout in layouts)
    if longest > MAX_NODES:
        raise ExportError(
            f"draw: got a graph of {longest} nodes, expected at most {MAX_NODES}; "
            "draw a smaller network"
        )
    widths = [_COLUMN * (1 + max(box.column for box in layout.boxes)) for layout in layouts]
    height = _ROW * (1 + max(box.row for layout in layouts for box in layout.boxes))
    figure = Figure(figsize=(0.75 * sum(widths) + 1, 0.52 * height + 1), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=12)
    axes = figure.subplots(1, 2, width_ratios=widths)
    names = ("traced", "packed")
    for axis, layout, name, model, width in zip(
        axes, layouts, names, (before, after), widths, strict=True
    ):
        count = len(model.graph.node)
        axis.set_title(f"{name}: {count} operators", fontsize=10)
        _draw_layout(axis, layout, width, height)
    figure.savefig(path, dpi=110)


def _lay_out(model: onnx.ModelProto) -> _Layout:
    """Puts every node one row below the lowest of its inputs."""
    boxes: list[_Box] = []
    arrows: list[tuple[int, int, bool]] = []
    made_by: dict[str, tuple[int, bool]] = {}
    used: dict[int, int] = {}

    def place(label: str, kind: str, inputs: Sequence[str]) -> int:
        sources = [made_by[name] for name in inputs if name in made_by]
        row = 1 + max((boxes[source].row for source, _ in sources), default=-1)
        column = used.get(row, 0)
        used[row] = column + 1
        boxes.append(_Box(label, kind, row, column))
        arrows.extend((source, len(boxes) - 1, bits) for source, bits in sources)
        return len(boxes) - 1

    weights = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name not in weights:
            made_by[value.name] = (place(value.name, "end", []), False)
    for node in model.graph.node:
        index = place(_label(node), _kind(node), node.input)
        for position, name in enumerate(node.output):
            made_by[name] = (index, _carries_bits(node, position, made_by))
    for value in model.graph.output:
        place(value.name, "end", [value.name])
    return _Layout(boxes, arrows)


def _label(node: onnx.NodeProto) -> str:
    path = node.name.rsplit("/", 1)[0] if "/" in node.name else node.name
    outputs = [n for n, name in zip(("Y", "bits"), node.output, strict=False) if name]
    product = node.domain == DOMAIN and len(node.output) == 2
    text = f"{node.op_type} → {', '.join(outputs)}" if product else node.op_type
    return text if path in ("", node.op_type) else f"{text}\n{path}"


def _kind(node: onnx.NodeProto) -> str:
    if node.domain != DOMAIN:
        return "product" if node.op_type in _LINEAR else "standard"
    if node.op_type.endswith(("Gemm", "Conv")):
        return "product"
    return "bits" if "Bits" in node.op_type else "ours"


def _carries_bits(
    node: onnx.NodeProto, position: int, made_by: dict[str, tuple[int, bool]]
) -> bool:
    if node.domain == DOMAIN:
        return position == 1 or node.op_type in ("PackBits", "MaxPoolBits")
    moves = node.op_type in ("Reshape", "Concat", "Slice", "Flatten")
    return moves and made_by.get(node.input[0], (0, False))[1]


def _draw_layout(axis: Axes, layout: _Layout, width: float, height: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    counts: dict[int, int] = {}
    for box in layout.boxes:
        counts[box.row] = counts.get(box.row, 0) + 1
    centres = [
        (width / 2 + (box.column - (counts[box.row] - 1) / 2) * _COLUMN, -box.row * _ROW)
        for box in layout.boxes
    ]
    for source, target, bits in layout.arrows:
        _draw_arrow(axis, centres[source], centres[target], bits)
    for box, (x, y) in zip(layout.boxes, centres, strict=True):
        face, edge = _COLOURS[box.kind]
        corner = (x - _BOX[0] / 2, y - _BOX[1] / 2)
        patch: Any = FancyBboxPatch(
            corner, *_BOX, boxstyle="round,pad=0.02", facecolor=face, edgecolor=edge, zorder=2
        )
        axis.add_patch(patch)
        axis.text(x, y, box.label, ha="center", va="center", fontsize=6.5, zorder=3)
    axis.set_xlim(0, width + _MARGIN)
    axis.set_ylim(-height + _ROW / 2, _ROW / 2)
    axis.axis("off")


def _draw_arrow(
    axis: Axes, start: tuple[float, float], end: tuple[float, float], bits: bool
) -> None:
    """Draws bits left of floats; an arrow that skips rows passes right of the boxes between."""
    rows = start[1] - end[1]
    side = -0.4 if bits else 0.0
    ends = [(start[0] + side, start[1] - _BOX[1] / 2), (end[0] + side, end[1] + _BOX[1] / 2)]
    bend = "arc3"
    if rows > 1.5 * _ROW:
        ends = [(x + _BOX[0] / 2, y) for x, y in (start, end)]
        bend = f"arc3,rad={-2 * _MARGIN / rows}"
    axis.annotate(
        "",
        xy=ends[1],
        xytext=ends[0],
        arrowprops={
            "arrowstyle": "-|>",
            "color": "#2b62a8" if bits else "#555555",
            "linewidth": 1.8 if bits else 0.9,
            "connectionstyle": bend,
        },
        zorder=1,
    )
