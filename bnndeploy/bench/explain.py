"""Says where the time of a packed file goes: every node with its kernel variant."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from bnndeploy.runtime import InferenceSession, kernel_report

# ONNX Runtime's profiler counts whole microseconds, so small nodes need many runs.
_RUNS = 30
_SUFFIX = "_kernel_time"

PRODUCTS = ("XnorGemm", "XnorConv", "TernaryGemm", "TernaryConv")

Event = dict[str, Any]  # of the profiler, or of a kernel report


@dataclass(frozen=True)
class NodeRow:
    """One node of the graph that ONNX Runtime runs.

    ``variant`` is our kernel's name, or "" for ONNX Runtime's own kernels; ``ms`` the median of
    one run, ``share`` its part of all nodes; ``gmacs`` 10⁹ multiply-accumulates a second of our
    products, else None.
    """

    name: str
    op: str
    variant: str
    ms: float
    share: float
    gmacs: float | None


@dataclass(frozen=True)
class _Filters:
    count: int
    codes: int  # of one filter


def explain(
    path: str | Path, inputs: dict[str, np.ndarray], *, threads: int = 1, runs: int = _RUNS
) -> tuple[NodeRow, ...]:
    """Profiles a packed file node by node, slowest first.

    Args:
        path: A packed model file.
        inputs: The arrays to run it on; their batch decides which variant a product uses.
        threads: Threads of the session.
        runs: Runs to take the median of; one more warms up.

    Raises:
        ModelFileError: If the file is missing or damaged.
    """
    known = [len(nodes) for nodes in _created()]
    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(folder) / "profile")
        session = InferenceSession(path, threads=threads, options=options)
        new = [nodes[count:] for nodes, count in zip(_created(), known, strict=True)]
        created = {node["name"]: node for nodes in new for node in nodes}
        for _ in range(runs + 1):
            session.run(None, inputs)
        events = json.loads(Path(session.end_profiling()).read_text())
    filters = _filters(path)
    nodes = [
        _row(name, op, events, created.get(name), filters.get(name))
        for (name, op), events in _by_node(events).items()
    ]
    total = sum(row.ms for row in nodes) or 1.0
    rows = [replace(row, share=row.ms / total) for row in nodes]
    return tuple(sorted(rows, key=lambda row: -row.ms))


def _created() -> tuple[list[Event], list[Event]]:
    """Returns the nodes that got a kernel so far: of the CPU, and of CUDA."""
    report = kernel_report()
    return report["nodes"], (report.get("cuda") or {}).get("nodes", [])


def _by_node(events: list[Event]) -> dict[tuple[str, str], list[Event]]:
    """Groups the profiler's kernel events by node name and operator."""
    found: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith(_SUFFIX):
            found[event["name"].removesuffix(_SUFFIX), event["args"]["op_name"]].append(event)
    return found


def _row(
    name: str, op: str, events: list[Event], created: Event | None, product: _Filters | None
) -> NodeRow:
    ms = float(np.median([event["dur"] for event in events[1:]])) * 1e-3
    variant, gmacs = "", None
    if created is not None:
        variant = created["variant"]
    if created is not None and product is not None:
        positions = _positions(events[0]["args"]["output_type_shape"][0], product)
        if positions <= created["few_positions"]:
            variant = created["few_variant"]
        gmacs = positions * product.count * product.codes / ms * 1e-6 if ms else None
    return NodeRow(name, op, variant, ms, 0.0, gmacs)


def _positions(output: dict[str, list[int]], product: _Filters) -> int:
    """Returns how many positions a product computed, from the type and shape of an output."""
    ((kind, shape),) = output.items()
    return prod(shape[:-1]) if kind == "uint32" else prod(shape) // product.count


def _filters(path: str | Path) -> dict[str, _Filters]:
    """Reads the number and size of the filters of every product, by node name."""
    model = onnx.load(path, load_external_data=False)
    dims = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        if node.op_type not in PRODUCTS or node.input[1] not in dims:
            continue
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        weights = dims[node.input[1]]
        if node.op_type.endswith("Gemm"):
            found[node.name] = _Filters(weights[-2], attributes["k"])
        else:
            depth = attributes["channels"] // attributes["group"]
            found[node.name] = _Filters(weights[-4], weights[-3] * weights[-2] * depth)
    return found
