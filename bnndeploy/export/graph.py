"""Small verbs on onnx_ir graphs that the passes share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from bnndeploy.ops.names import DOMAIN, VERSION

Array = NDArray[Any]
Float = NDArray[np.float32]

QUANTIZER_KEY = "bnndeploy.quantizer"
"""Metadata of a value: the module path of the quantizer whose output it equals."""

EPSILON_KEY = "bnndeploy.epsilon"
"""Metadata of a BatchNormalization node: eps as torch holds it (the attribute is float32)."""


def constant(value: ir.Value | None) -> Array | None:
    """Returns the array behind an initializer or Constant node, else None."""
    if value is None:
        return None
    tensor = ir.convenience.get_const_tensor(value)
    return None if tensor is None else np.asarray(tensor.numpy())


def add_constant(graph: ir.Graph, array: Array, name: str) -> ir.Value:
    """Registers an initializer; a name that is taken gets a number."""
    chosen, number = name, 1
    while chosen in graph.initializers:
        chosen, number = f"{name}_{number}", number + 1
    value = ir.Value(
        name=chosen,
        shape=ir.Shape(array.shape),
        type=ir.TensorType(ir.DataType.from_numpy(array.dtype)),
        const_value=ir.tensor(np.ascontiguousarray(array).reshape(array.shape), name=chosen),
    )
    graph.register_initializer(value)
    return value


def shared_constant(graph: ir.Graph, array: Array, name: str) -> ir.Value:
    """Returns the initializer ``name``, adding it on first use; for neutral operands."""
    found = graph.initializers.get(name)
    return add_constant(graph, array, name) if found is None else found


def insert(
    graph: ir.Graph,
    anchor: ir.Node,
    op_type: str,
    inputs: Sequence[ir.Value | None],
    attributes: Mapping[str, Any] | None = None,
    *,
    domain: str = "",
    name: str | None = None,
    like: ir.Value | None = None,
    shape: Sequence[Any] | None = None,
    dtype: ir.DataType | None = None,
    more_outputs: Sequence[ir.Value] = (),
    after: bool = False,
) -> ir.Node:
    """Adds a node next to ``anchor``; ``like`` lends shape and type to its first output."""
    if like is not None:
        shape = like.shape.dims if shape is None and like.shape is not None else shape
        dtype = like.dtype if dtype is None else dtype
    output = ir.Value(
        shape=None if shape is None else ir.Shape(shape),
        type=None if dtype is None else ir.TensorType(dtype),
    )
    node = ir.Node(
        domain,
        op_type,
        inputs,
        ir.convenience.convert_attributes(dict(attributes or {})),
        outputs=[output, *more_outputs],
        version=VERSION if domain == DOMAIN else None,
        name=name,
    )
    (graph.insert_after if after else graph.insert_before)(anchor, node)
    return node


def replace(old: ir.Value, new: ir.Value, *, keep_label: bool = True) -> None:
    """Lets every reader of ``old`` read ``new``; a graph output keeps its name."""
    if keep_label and QUANTIZER_KEY in old.metadata_props:
        new.metadata_props.setdefault(QUANTIZER_KEY, old.metadata_props[QUANTIZER_KEY])
    if old.is_graph_output():
        name = old.name
        old.name = f"{name}.replaced"
        new.name = name
        new.shape = old.shape if new.shape is None else new.shape
        new.type = old.type if new.type is None else new.type
    ir.convenience.replace_all_uses_with(old, new, replace_graph_outputs=True)


def readers(value: ir.Value) -> list[ir.Node]:
    """Returns the nodes that read ``value``, each once, in a fixed order."""
    found: dict[int, ir.Node] = {}
    for node, _ in value.uses():
        found.setdefault(id(node), node)
    return list(found.values())


def has_one_reader(value: ir.Value) -> bool:
    """Says whether exactly one node input reads ``value`` and the graph does not return it."""
    return len(value.uses()) == 1 and not value.is_graph_output()


def is_dead(value: ir.Value) -> bool:
    """Says whether nothing reads ``value``."""
    return not value.uses() and not value.is_graph_output()


def is_op(node: ir.Node | None, *op_types: str, domain: str = "") -> bool:
    """Says whether ``node`` is one of the operators of a domain."""
    return node is not None and node.domain == domain and node.op_type in op_types


def is_ours(node: ir.Node | None, *op_types: str) -> bool:
    """Says whether ``node`` is one of our operators."""
    return is_op(node, *op_types, domain=DOMAIN)


def attribute(node: ir.Node, name: str, default: Any = None) -> Any:
    """Returns an attribute's value; tuples become lists."""
    found = node.attributes.get(name)
    if found is None:
        return default
    value = found.value
    return list(value) if isinstance(value, tuple) else value


def set_attribute(node: ir.Node, name: str, value: Any) -> None:
    """Writes an attribute."""
    node.attributes[name] = ir.convenience.convert_attribute(name, value)


def dims(value: ir.Value | None) -> list[Any] | None:
    """Returns the dimensions (int, or SymbolicDim where dynamic), None if the rank is unknown."""
    return None if value is None or value.shape is None else list(value.shape.dims)


def static_dim(value: ir.Value | None, axis: int) -> int | None:
    """Returns the size of one axis if it is known."""
    shape = dims(value)
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    return shape[axis] if isinstance(shape[axis], int) else None


def rank(value: ir.Value | None) -> int | None:
    """Returns the number of axes if it is known."""
    shape = dims(value)
    return None if shape is None else len(shape)


def channel_vector(array: Array, value_rank: int) -> Float | None:
    """Views a constant that broadcasts along channel axis 1 only as ``[1]`` or ``[C]``.

    None if it varies along another axis.
    """
    if array.size == 1:
        return array.reshape(1).astype(np.float32)
    if array.ndim > value_rank:
        return None
    shape = (1,) * (value_rank - array.ndim) + array.shape
    if any(size != 1 for axis, size in enumerate(shape) if axis != 1):
        return None
    return array.reshape(-1).astype(np.float32)


def number_nodes(graph: ir.Graph) -> None:
    """Gives every node a name, and a number where the name repeats."""
    seen: dict[str, int] = {}
    for node in graph:
        name = (node.name or node.op_type).strip("/")
        count = seen.get(name, 0)
        seen[name] = count + 1
        node.name = f"{name}_{count}" if count else name
