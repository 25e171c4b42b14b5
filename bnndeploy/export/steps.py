"""Recognises activations of k bits: whole numbers between two bounds, times a number."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from bnndeploy.export.graph import constant, is_op


@dataclass(frozen=True)
class Steps:
    """A value of whole numbers, ``round(clip(z, low, high))``.

    Attributes:
        levels: The whole numbers.
        inner: What is rounded.
        low: The least that occurs.
        high: The greatest.
    """

    levels: ir.Value
    inner: ir.Value
    low: int
    high: int

    @property
    def bits(self) -> int:
        return (self.high - self.low).bit_length()


@dataclass(frozen=True)
class Gain:
    """What turns whole numbers into the value that is read: "Mul" or "Div" and a number."""

    op_type: str
    number: float


def read_steps(levels: ir.Value) -> Steps | None:
    """Reads ``round(clip(z, low, high))`` or ``round(n * clip(x, 0, 1))``."""
    rounded = levels.producer()
    if not is_op(rounded, "Round") or rounded is None or rounded.inputs[0] is None:
        return None
    inner = clipped = rounded.inputs[0]
    factor = 1.0
    multiplied = scalar_operand(inner, "Mul")
    if multiplied is not None:
        clipped, factor = multiplied
    bounds = [bound * factor for bound in _clip_bounds(clipped)]
    if not bounds or any(bound % 1 for bound in bounds) or bounds[0] >= bounds[1]:
        return None
    return Steps(levels, inner, int(bounds[0]), int(bounds[1]))


def read_scaled_steps(value: ir.Value) -> tuple[Steps, Gain] | None:
    """Reads ``steps``, ``steps * s`` or ``steps / n``."""
    for op_type in ("Mul", "Div"):
        scaled = scalar_operand(value, op_type)
        steps = None if scaled is None else read_steps(scaled[0])
        if scaled is not None and steps is not None:
            return steps, Gain(op_type, scaled[1])
    bare = read_steps(value)
    return None if bare is None else (bare, Gain("Mul", 1.0))


def scalar_operand(value: ir.Value, op_type: str) -> tuple[ir.Value, float] | None:
    """Reads ``x op number`` as x and the number."""
    node = value.producer()
    if not is_op(node, op_type) or node is None or node.inputs[0] is None:
        return None
    number = constant(node.inputs[1])
    return None if number is None or number.size != 1 else (node.inputs[0], float(number.item()))


def _clip_bounds(value: ir.Value) -> list[float]:
    """Returns both bounds of a Clip, an empty list if there are not two constant ones."""
    node = value.producer()
    if not is_op(node, "Clip") or node is None:
        return []
    bounds = [constant(bound) for bound in node.inputs[1:]]
    known = [float(bound.item()) for bound in bounds if bound is not None]
    return known if len(known) == 2 else []
