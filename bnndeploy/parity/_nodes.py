"""Steps 2 and 3: each of our nodes by the kernels and by its function, on the same inputs."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto

from bnndeploy.parity._compare import is_exact, outputs_differ
from bnndeploy.parity._model import Array, Model, describe, is_ours, label
from bnndeploy.parity._report import Check, NodeStep
from bnndeploy.parity._reproducer import Reproducer
from bnndeploy.parity._variants import FUNCTIONS, Variant
from bnndeploy.parity._walk import NodeRun


class NodeSteps:
    """Watches a walk and compares, for each of our nodes, oracle, kernels and function."""

    def __init__(self, model: Model, variants: Sequence[Variant]) -> None:
        self.model = model
        self.variants = variants
        names = ", ".join(variant.name for variant in variants)
        self.kernels = NodeStep(2, f"oracle ↔ kernels ({names})")
        self.functions = NodeStep(3, "kernels ↔ portable functions")
        self.reproducer: Reproducer | None = None

    def see(self, run: NodeRun) -> None:
        """Compares one node."""
        if not is_ours(run.node):
            return
        node = one_node(self.model, run)
        feeds = dict(zip(run.node.input, run.inputs, strict=True))
        feeds = {name: feeds[name] for name in (value.name for value in node.graph.input)}
        expected = list(run.outputs.values())
        results: list[Array] | None = None
        for variant in self.variants:
            results = self._check(self.kernels, run, variant, node, feeds, expected)
        portable = one_node(self.model, run, functions=True)
        if results is None:
            problem = "no kernel gave a result to compare with"
            self.functions.checks.append(
                Check(label(run.node), FUNCTIONS.name, is_exact(run), 0, problem=problem)
            )
        else:  # of the last and strongest variant
            self._check(self.functions, run, FUNCTIONS, portable, feeds, results, slack=2.0)

    def _check(
        self,
        step: NodeStep,
        run: NodeRun,
        variant: Variant,
        node: ModelProto,
        feeds: dict[str, Array],
        expected: list[Array],
        slack: float = 1.0,
    ) -> list[Array] | None:
        """Runs the node, adds a check to the step and returns the results."""
        name, exact = label(run.node), is_exact(run)
        got: list[Array] | None = None
        try:
            got = variant.run(node, feeds)
            found = outputs_differ(run, got, expected, slack)
            check = Check(name, variant.name, exact, found.compared, found.differing,
                          found.explained, found.worst)  # fmt: skip
        except Exception as error:  # onnxruntime raises its own class per status code
            reason = str(error).strip().splitlines()[0]
            check = Check(name, variant.name, exact, 0, problem=reason)
        step.checks.append(check)
        if not check.passed and self.reproducer is None:
            whole = one_node(self.model, run, functions=True)
            self.reproducer = Reproducer(
                f"{name}, {variant.name}", whole, dict(feeds), dict(run.outputs)
            )
        return got


def one_node(model: Model, run: NodeRun, *, functions: bool = False) -> ModelProto:
    """Returns a model of this node alone; its constants stay constants."""
    named = dict(zip(run.node.input, run.inputs, strict=True))
    inputs = [describe(n, array) for n, array in named.items() if n not in model.constants]
    outputs = [describe(n, array) for n, array in run.outputs.items()]
    return model.part(inputs, outputs, functions=functions)
