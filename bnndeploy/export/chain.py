"""Element-wise chains between a value and a sign, evaluated by torch's own operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir
import torch
from torch import Tensor, nn

from bnndeploy.export.graph import (
    EPSILON_KEY,
    Float,
    attribute,
    channel_vector,
    constant,
    dims,
    is_op,
    rank,
    static_dim,
)

Step = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Link:
    """One element-wise node of a chain.

    Attributes:
        node: The node.
        data: Its input that varies.
        apply: What it computes, in torch.
        monotone: Whether that is monotone in every channel.
    """

    node: ir.Node
    data: ir.Value
    apply: Step
    monotone: bool = True


def link_above(value: ir.Value) -> Link | None:
    """Returns the element-wise node that makes ``value``, None if another kind does."""
    node = value.producer()
    if node is None or node.domain != "" or node.op_type not in _LINKS:
        return None
    return _LINKS[node.op_type](node)


def evaluate(links: list[Link], values: Float) -> Float:
    """Runs the chain, topmost link first, on values ``[V, C]``."""
    x = torch.from_numpy(np.array(values, np.float32))
    with torch.no_grad():
        for link in links:
            x = _from_layout(link.apply(_to_layout(x, link.data)))
    result: Float = x.numpy()
    return result


def _has_map(value: ir.Value) -> bool:
    shape = dims(value) or []
    return any(size != 1 for size in shape[2:])


def _to_layout(x: Tensor, like: ir.Value) -> Tensor:
    """Arranges ``[V, C]`` with the rank of ``like``: torch rounds batch-norm by layout."""
    axes = rank(like) or 2
    if axes == 2:
        return x.contiguous()
    if _has_map(like):
        return x.T.reshape(1, x.shape[1], -1, *(1,) * (axes - 3)).contiguous()
    return x.reshape(*x.shape, *(1,) * (axes - 2)).contiguous()


def _from_layout(x: Tensor) -> Tensor:
    if x.ndim > 2 and x.shape[0] == 1:
        return x.flatten(1)[0].reshape(x.shape[1], -1).T
    return x.flatten(1)


def _batch_norm(node: ir.Node) -> Link | None:
    """Builds the module that torch ran, by the rank of the input."""
    data = node.inputs[0]
    vectors = [constant(value) for value in node.inputs[1:]]
    kinds: dict[int, type[nn.BatchNorm1d | nn.BatchNorm2d]] = {
        2: nn.BatchNorm1d,
        3: nn.BatchNorm1d,
        4: nn.BatchNorm2d,
    }
    kind = kinds.get(rank(data) or 0)
    if data is None or kind is None or any(vector is None for vector in vectors):
        return None
    gamma, beta, mean, variance = (torch.from_numpy(np.array(v, np.float32)) for v in vectors)
    module = kind(len(gamma), eps=batch_norm_epsilon(node)).eval()
    with torch.no_grad():
        module.weight.copy_(gamma)
        module.bias.copy_(beta)
    module.running_mean = mean
    module.running_var = variance
    return Link(node, data, module)


def batch_norm_epsilon(node: ir.Node) -> float:
    """Returns eps as torch held it; the shortest decimal of the float32 attribute if unknown."""
    kept = node.metadata_props.get(EPSILON_KEY)
    stored = np.float32(attribute(node, "epsilon", 1e-5))
    return float(kept) if kept is not None else float(str(stored))


def _binary(operation: Callable[[Tensor, Tensor], Tensor], first_only: bool = False):  # type: ignore[no-untyped-def]
    def build(node: ir.Node) -> Link | None:
        left, right = node.inputs
        if left is None or right is None:
            return None
        array = constant(right)
        data, other_first = left, False
        if array is None:
            array, data, other_first = constant(left), right, True
        if array is None or array.dtype != np.float32 or (first_only and other_first):
            return None
        if channel_vector(array, rank(data) or 0) is None:
            return None
        other = torch.from_numpy(np.array(array))
        if other_first:
            return Link(node, data, lambda x: operation(other, x))
        return Link(node, data, lambda x: operation(x, other))

    return build


def _clip(node: ir.Node) -> Link | None:
    bounds = [constant(value) for value in node.inputs[1:]]
    if any(b is None and v is not None for b, v in zip(bounds, node.inputs[1:], strict=True)):
        return None
    low, high = (None if b is None else float(b.item()) for b in [*bounds, None, None][:2])
    if low is None and high is None:
        return None
    return _unary(node, lambda x: torch.clamp(x, low, high))


def _slope(node: ir.Node) -> Link | None:
    data = node.inputs[0]
    if node.op_type == "LeakyRelu":
        slope = np.array([attribute(node, "alpha", 0.01)], np.float32)
    else:
        found = constant(node.inputs[1])
        if found is None:
            return None
        slope = found
    vector = channel_vector(slope, rank(data) or 0)
    if vector is None:
        return None
    weight = torch.from_numpy(np.array(vector))
    link = _unary(node, lambda x: torch.nn.functional.prelu(x, weight))
    # A negative slope folds the line: the value falls, then rises.
    return link and Link(node, link.data, link.apply, monotone=bool((vector >= 0).all()))


def _flatten_one(node: ir.Node) -> Link | None:
    """Passes through a reshape between ``[N, C, 1, 1]`` and ``[N, C]``."""
    data, result = node.inputs[0], node.outputs[0]
    channels = static_dim(data, 1)
    if channels is None or static_dim(result, 1) != channels or data is None:
        return None
    if _has_map(data) or _has_map(result) or min(rank(data) or 0, rank(result) or 0) != 2:
        return None
    return Link(node, data, lambda x: x)


def _unary(node: ir.Node, operation: Step) -> Link | None:
    data = node.inputs[0]
    return None if data is None else Link(node, data, operation)


def _plain(operation: Step) -> Callable[[ir.Node], Link | None]:
    return lambda node: _unary(node, operation)


_LINKS: dict[str, Callable[[ir.Node], Link | None]] = {
    "BatchNormalization": _batch_norm,
    "Add": _binary(torch.add),
    "Sub": _binary(torch.sub),
    "Mul": _binary(torch.mul),
    "Div": _binary(torch.div, first_only=True),  # constant / x jumps at 0
    "Clip": _clip,
    "Relu": _plain(torch.relu),
    "LeakyRelu": _slope,
    "PRelu": _slope,
    "Neg": _plain(torch.neg),
    "Tanh": _plain(torch.tanh),
    "Sigmoid": _plain(torch.sigmoid),
    "Identity": _plain(lambda x: x),
    "Reshape": _flatten_one,
    "Flatten": _flatten_one,
}


def is_elementwise(node: ir.Node | None) -> bool:
    """Says whether a node could be a link (its constants are not looked at)."""
    return node is not None and is_op(node, *_LINKS)
