"""A model file as parity sees it: nodes in order, constants, metadata, parts cut out of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import FunctionProto, ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from bnndeploy.errors import ModelFileError
from bnndeploy.export.reading import load_checked_model
from bnndeploy.ops.names import DOMAIN
from bnndeploy.runtime.metadata import ModelMetadata, read_metadata

Array = NDArray[Any]


class Model:
    """Holds a model file.

    Attributes:
        path: Where it was read from.
        nodes: Its nodes, each after those it reads from.
        constants: Its initializers by name.
        inputs: The names of its real inputs.
        outputs: The names of its outputs.
        batch: The batch size of the first input, None where it is free.
        metadata: What the export wrote about it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.proto = load_checked_model(path)
        graph = self.proto.graph
        self.nodes: list[NodeProto] = list(graph.node)
        self.constants = {tensor.name: _array(tensor, path) for tensor in graph.initializer}
        self.inputs = [value.name for value in graph.input if value.name not in self.constants]
        self.outputs = [value.name for value in graph.output]
        self.batch = _fixed_batch(self.proto)
        properties = {entry.key: entry.value for entry in self.proto.metadata_props}
        self.metadata: ModelMetadata = read_metadata(properties)
        self._producers = {
            name: index for index, node in enumerate(self.nodes) for name in node.output if name
        }

    def function(self, op_type: str) -> FunctionProto | None:
        """Returns the portable function of one of our operators, as the file carries it."""
        found = (f for f in self.proto.functions if (f.domain, f.name) == (DOMAIN, op_type))
        return next(found, None)

    def part(
        self,
        inputs: Iterable[ValueInfoProto],
        outputs: Sequence[ValueInfoProto],
        *,
        functions: bool = False,
    ) -> ModelProto:
        """Cuts out what computes ``outputs`` from ``inputs``; constants come along.

        Inputs of the whole model that are needed besides stay inputs; ``inputs`` that are not
        needed are left out.
        """
        given = {value.name: value for value in inputs}
        reached: set[str] = set()
        wanted: set[int] = set()
        pending = [value.name for value in outputs]
        while pending:
            name = pending.pop()
            if name in reached:
                continue
            reached.add(name)
            index = None if name in given else self._producers.get(name)
            if index is not None and index not in wanted:
                wanted.add(index)
                pending.extend(filter(None, self.nodes[index].input))
        whole = self.proto.graph
        sources = given | {v.name: v for v in whole.input if v.name not in given}
        graph = helper.make_graph(
            [_without_outputs(self.nodes[index], given) for index in sorted(wanted)],
            whole.name or "part",
            [value for name, value in sources.items() if name in reached],
            list(outputs),
            [t for t in whole.initializer if t.name in reached and t.name not in given],
        )
        return helper.make_model(
            graph,
            ir_version=self.proto.ir_version,
            opset_imports=self.proto.opset_import,
            functions=self.proto.functions if functions else [],
        )


def _without_outputs(node: NodeProto, given: Collection[str]) -> NodeProto:
    """Returns the node with other names for those of its outputs that are given as inputs."""
    if not any(name in given for name in node.output):
        return node
    changed = NodeProto()
    changed.CopyFrom(node)
    changed.output[:] = [f"{n}.computed" if n in given else n for n in node.output]
    return changed


def is_ours(node: NodeProto) -> bool:
    """Says whether a node is one of our operators."""
    return bool(node.domain == DOMAIN)


def label(node: NodeProto) -> str:
    """Returns a name for a node, also where the file gives it none."""
    return f"{node.name or next(filter(None, node.output), '?')} ({node.op_type})"


def attributes(node: NodeProto) -> dict[str, Any]:
    """Returns the attributes of a node as Python values."""
    return {entry.name: helper.get_attribute_value(entry) for entry in node.attribute}


def describe(name: str, array: Array, *, free_batch: bool = False) -> ValueInfoProto:
    """Returns a value's type and shape; ``free_batch`` leaves the first axis open."""
    shape: list[Any] = list(array.shape)
    if free_batch and shape:
        shape[0] = None
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape)


def save_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Writes named arrays as one .npz file."""
    np.savez(path, **arrays)  # type: ignore[arg-type]


def _fixed_batch(model: ModelProto) -> int | None:
    sizes = model.graph.input[0].type.tensor_type.shape.dim if model.graph.input else []
    return sizes[0].dim_value or None if sizes else None


def _array(tensor: onnx.TensorProto, path: Path) -> Array:
    try:
        return numpy_helper.to_array(tensor)
    except ValueError as error:
        raise ModelFileError(
            f"{path}: initializer {tensor.name} is damaged ({error}); export the model again"
        ) from error
