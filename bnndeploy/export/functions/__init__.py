"""Model-local functions: every operator also in standard operators, so a file runs anywhere.

An ONNX runtime that lacks our library replaces a node by the function of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from onnx import FunctionProto, ModelProto, NodeProto, helper

from bnndeploy.errors import ExportError, OperatorError
from bnndeploy.export.functions import activations, products
from bnndeploy.export.functions._body import Body, build_function
from bnndeploy.ops.names import DOMAIN, OPSET, VERSION

__all__ = ["attach_functions", "function"]

_BODIES: dict[str, Callable[[Body], None]] = {
    "Sign": activations.sign,
    "Ternary": activations.ternary,
    "PackBits": activations.pack_bits,
    "UnpackBits": activations.unpack_bits,
    "XnorGemm": products.xnor_gemm,
    "XnorConv": products.xnor_conv,
    "TernaryGemm": products.ternary_gemm,
    "TernaryConv": products.ternary_conv,
    "MaxPoolBits": activations.max_pool_bits,
}


def function(op_type: str) -> FunctionProto:
    """Returns one operator in standard operators, as ``bnndeploy.ops.oracle`` defines it.

    Raises:
        OperatorError: If the operator is unknown.
    """
    if op_type not in _BODIES:
        raise OperatorError(f"operator {op_type!r} is unknown; known: {', '.join(_BODIES)}")
    return build_function(op_type, _BODIES[op_type])


def attach_functions(model: ModelProto) -> None:
    """Adds to the model the functions of the operators that it uses, in place.

    This is the last step of an export: most tools inline functions or drop them.

    Raises:
        ExportError: If the model's standard opset is another one than that of the functions.
    """
    versions = {entry.domain: entry.version for entry in model.opset_import}
    if versions.get("", OPSET) != OPSET:
        raise ExportError(
            f"portable functions: got a model of opset {versions['']}, expected {OPSET}; "
            f"convert it with onnx.version_converter before attaching them"
        )
    used = {node.op_type for node in _all_nodes(model.graph.node) if node.domain == DOMAIN}
    foreign = [f for f in model.functions if f.domain != DOMAIN]
    del model.functions[:]
    model.functions.extend([*foreign, *(function(op_type) for op_type in sorted(used))])
    if used and DOMAIN not in versions:
        model.opset_import.append(helper.make_opsetid(DOMAIN, VERSION))


def _all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Yields the nodes of a graph and of its branches and loop bodies."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from _all_nodes(attribute.g.node)
