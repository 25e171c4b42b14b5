"""Folds what is constant and gives reshapes constant targets."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
from onnx_ir.passes import common
from onnxscript import optimizer

from bnndeploy.export.context import Context
from bnndeploy.export.graph import (
    add_constant,
    constant,
    dims,
    insert,
    is_op,
    is_ours,
    replace,
)
from bnndeploy.ops.oracle import run_op


class SimplifyShapes:
    """Leaves a graph whose constants are initializers and whose shapes need no computing.

    1. Fold constant sub-graphs (small ones: bias and scale views).
    2. ``Reshape(x, computed shape)`` with at most one dynamic output axis takes the constant
       shape that has -1 there.
    3. Constant nodes become initializers; Identity and Dropout disappear.
    4. ``Min(Max(x, low), high)``, as torch.clamp is traced without shapes: ``Clip``.
    5. Sign and Ternary of constants (a quantizer called on a Parameter): computed.
    """

    name = "simplify-shapes"

    def __call__(self, graph: ir.Graph, context: Context) -> None:
        model = ir.Model(graph, ir_version=10)
        optimizer.fold_constants_ir(model)
        for node in list(graph):
            if is_op(node, "Reshape") and constant(node.inputs[1]) is None:
                self._fix_target(graph, node, context)
            elif is_op(node, "Dropout"):
                assert node.inputs[0] is not None
                replace(node.outputs[0], node.inputs[0])
            elif is_op(node, "Min"):
                self._clip(graph, node)
            elif is_ours(node, "Sign", "Ternary"):
                self._compute(graph, node)
        common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
        common.IdentityEliminationPass()(model)
        common.RemoveUnusedNodesPass()(model)

    def _fix_target(self, graph: ir.Graph, node: ir.Node, context: Context) -> None:
        target = dims(node.outputs[0])
        if target is None or sum(not isinstance(size, int) for size in target) > 1:
            context.declined(self.name, node, "more than one axis of the reshape is dynamic")
            return
        shape = np.array([size if isinstance(size, int) else -1 for size in target], np.int64)
        node.replace_input_with(1, add_constant(graph, shape, f"{node.name}.shape"))

    def _clip(self, graph: ir.Graph, node: ir.Node) -> None:
        below = node.inputs[0].producer() if node.inputs[0] is not None else None
        if below is None or not is_op(below, "Max"):
            return
        bounds = [constant(n.inputs[1]) if len(n.inputs) == 2 else None for n in (below, node)]
        if any(bound is None or bound.size != 1 for bound in bounds):
            return
        low, high = (
            add_constant(graph, bound.reshape(()), f"{node.name}.{name}")
            for bound, name in zip(bounds, ("low", "high"), strict=True)
            if bound is not None
        )
        clip = insert(
            graph, node, "Clip", [below.inputs[0], low, high], name=node.name,
            like=node.outputs[0],
        )  # fmt: skip
        replace(node.outputs[0], clip.outputs[0])

    def _compute(self, graph: ir.Graph, node: ir.Node) -> None:
        arrays = [array for value in node.inputs if (array := constant(value)) is not None]
        if len(arrays) == len(node.inputs):
            (result,) = run_op(node.op_type, arrays, {})
            replace(node.outputs[0], add_constant(graph, result, str(node.name)))
