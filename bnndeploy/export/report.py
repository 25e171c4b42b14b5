"""What an export did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bnndeploy.export.context import Event
from bnndeploy.ops.names import DOMAIN

_FLOATS = (
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.FLOAT16,
    onnx.TensorProto.DOUBLE,
    onnx.TensorProto.BFLOAT16,
)

_INT2 = getattr(onnx.TensorProto, "INT2", None)  # onnx 1.20


@dataclass
class ExportReport:
    """Tells what was exported and how.

    Attributes:
        form: "packed", "float", "standard", "int8" or "qonnx".
        model: The model.
        traced: The graph before the passes, without its constants.
        path: Where it was written, None if it was not.
        events: What the passes did and why they declined.
        size: Bytes of the file.
        bytes_by_kind: Bytes of 1-bit weights, 2-bit weights, float and integer constants,
            functions, metadata, and of the graph itself.
        seconds: How long the export took.
    """

    form: str
    model: onnx.ModelProto
    traced: onnx.ModelProto
    path: Path | None
    events: list[Event] = field(default_factory=list)
    size: int = 0
    bytes_by_kind: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def nodes_before(self) -> dict[str, int]:
        """Operators of the traced graph and how often each occurs."""
        return count_nodes(self.traced)

    @property
    def nodes_after(self) -> dict[str, int]:
        """Operators of the exported graph and how often each occurs."""
        return count_nodes(self.model)

    @property
    def fired(self) -> list[Event]:
        return [event for event in self.events if event.fired]

    @property
    def declined(self) -> list[Event]:
        return [event for event in self.events if not event.fired]

    def to_json(self) -> dict[str, Any]:
        """Returns all but the graphs, ready for JSON."""
        return {
            "form": self.form,
            "path": None if self.path is None else str(self.path),
            "size": self.size,
            "bytes": self.bytes_by_kind,
            "seconds": round(self.seconds, 3),
            "nodes_before": self.nodes_before,
            "nodes_after": self.nodes_after,
            "patterns": dict(sorted(Counter(event.pass_name for event in self.fired).items())),
            "fired": [_event_json(event) for event in self.fired],
            "declined": [_event_json(event) for event in self.declined],
        }


def _event_json(event: Event) -> dict[str, str]:
    return {"pass": event.pass_name, "node": event.subject, "text": event.text}


def count_nodes(model: onnx.ModelProto) -> dict[str, int]:
    """Counts the nodes of the main graph by operator."""
    return dict(sorted(Counter(node.op_type for node in model.graph.node).items()))


def bytes_by_kind(model: onnx.ModelProto) -> dict[str, int]:
    """Splits the bytes of a model by what they hold."""
    one_bit, two_bit = (
        {node.input[1] for node in model.graph.node if _is_product(node, prefix)}
        for prefix in ("Xnor", "Ternary")
    )
    sizes = dict.fromkeys(("one_bit", "two_bit", "float", "integer"), 0)
    for tensor in model.graph.initializer:
        kind = "float" if tensor.data_type in _FLOATS else "integer"
        if tensor.name in one_bit:
            kind = "one_bit"
        elif tensor.name in two_bit or tensor.data_type == _INT2:
            kind = "two_bit"
        sizes[kind] += tensor_bytes(tensor)
    sizes["functions"] = sum(function.ByteSize() for function in model.functions)
    sizes["metadata"] = sum(entry.ByteSize() for entry in model.metadata_props)
    sizes["graph"] = model.ByteSize() - sum(sizes.values())
    return sizes


def _is_product(node: onnx.NodeProto, prefix: str) -> bool:
    return node.domain == DOMAIN and node.op_type in (f"{prefix}Gemm", f"{prefix}Conv")


def tensor_bytes(tensor: onnx.TensorProto) -> int:
    """Returns the bytes of a tensor's numbers, also where they lie in another file."""
    count = int(np.prod(tensor.dims, dtype=np.int64))
    if tensor.data_type == _INT2:
        return -(-count // 4)
    return count * int(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)
