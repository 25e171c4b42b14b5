"""A small builder, so that a function body reads like the NumPy code of the oracle."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onnx import AttributeProto, FunctionProto, NodeProto, TensorProto, helper

from bnndeploy.ops.names import DOMAIN, OPSET, SIGNATURES

FLOAT, INT64, UINT32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT32


@dataclass(frozen=True)
class Reference:
    """Stands for the value that the calling node gives to one of its attributes."""

    name: str
    type: AttributeProto.AttributeType


def int_attribute(name: str) -> Reference:
    """Refers to an integer attribute of the calling node."""
    return Reference(name, AttributeProto.INT)


def ints_attribute(name: str) -> Reference:
    """Refers to an integer list attribute of the calling node."""
    return Reference(name, AttributeProto.INTS)


def float_attribute(name: str) -> Reference:
    """Refers to a float attribute of the calling node."""
    return Reference(name, AttributeProto.FLOAT)


class Body:
    """Collects nodes: ``body.MatMul(a, b)`` appends one and returns the name of its output.

    Values are names; inputs and outputs of the function have the names of its signature.
    Constants go to the outermost body once each, so that branches share them.
    """

    def __init__(self, outer: Body | None = None) -> None:
        self.nodes: list[NodeProto] = []
        self._root: Body = outer._root if outer else self
        self._numbers = itertools.count()
        self._constants: dict[str, str] = {}

    def __getattr__(self, op_type: str) -> Callable[..., str]:
        if not op_type[0].isupper():
            raise AttributeError(op_type)

        def append(*inputs: str, out: str | None = None, **attributes: Any) -> str:
            """Appends the node; ``out`` names its output."""
            output = out or f"{op_type.lower()}_{next(self._root._numbers)}"
            self.nodes.append(_node(op_type, inputs, output, attributes))
            return output

        return append

    def scalar(self, value: float | Reference) -> str:
        """Returns a float32 scalar."""
        return self._constant(value_float=value)

    def index(self, value: int | Reference) -> str:
        """Returns an int64 scalar."""
        return self._constant(value_int=value)

    def ints(self, *values: int | Reference) -> str:
        """Returns an int64 vector: of the given numbers, or of one list attribute."""
        if len(values) == 1 and isinstance(values[0], Reference):
            return self._constant(value_ints=values[0])
        return self._constant(value_ints=values)

    def choose(
        self,
        condition: str,
        then: Callable[[Body], str],
        otherwise: Callable[[Body], str],
    ) -> str:
        """Evaluates one of two branches; only the chosen one runs."""
        branches = {}
        for name, build in (("then_branch", then), ("else_branch", otherwise)):
            branch = Body(outer=self)
            output = helper.make_empty_tensor_value_info(build(branch))
            branches[name] = helper.make_graph(branch.nodes, name, [], [output])
        return self.If(condition, **branches)

    def _constant(self, **value: Any) -> str:
        root = self._root
        key = repr(value)
        if key not in root._constants:
            root._constants[key] = root.Constant(**value)
        return root._constants[key]


def _node(
    op_type: str, inputs: tuple[str, ...], output: str, attributes: dict[str, Any]
) -> NodeProto:
    node = helper.make_node(op_type, inputs, [output])
    for name, value in attributes.items():
        if isinstance(value, Reference):
            node.attribute.add(name=name, type=value.type, ref_attr_name=value.name)
        else:
            node.attribute.append(helper.make_attribute(name, value))
    return node


def size(body: Body, name: str) -> str:
    """Returns an integer attribute of the calling node as a vector of one element."""
    return body.Reshape(body.index(int_attribute(name)), body.ints(1))


def build_function(op_type: str, fill: Callable[[Body], None]) -> FunctionProto:
    """Returns the function of one operator, with the inputs and attributes of its signature."""
    body = Body()
    fill(body)
    signature = SIGNATURES[op_type]
    return helper.make_function(
        DOMAIN,
        op_type,
        signature.inputs,
        signature.outputs,
        body.nodes,
        [helper.make_opsetid("", OPSET)],
        signature.attributes,
    )
