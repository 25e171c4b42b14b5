"""Step 4: classes and outputs of the whole file on a data set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bnndeploy.parity._compare import bits_differ, numbers_differ
from bnndeploy.parity._model import Array, Model, describe
from bnndeploy.parity._report import Disagreement, EndToEndStep
from bnndeploy.runtime import InferenceSession

AGREEMENT = 0.9999
"""Of classes from pixels: flips in the first real layer may turn a near tie."""

TIE = 1e-5
"""Of the lead of a class, relative to the largest output: what rounding may turn."""


@dataclass(frozen=True)
class Batch:
    """What the trained module says of some inputs.

    Attributes:
        inputs: The inputs by name.
        expected: Its first output.
        given: Its activations at the values of the graph that real numbers decide.
        exact: Its activations at those that follow from bits alone.
        labels: The right classes, where they are known.
    """

    inputs: dict[str, Array]
    expected: Array
    given: dict[str, Array]
    exact: dict[str, Array]
    labels: Array | None = None


class EndToEnd:
    """Runs the whole file, and the file from its binary activations on, batch by batch."""

    def __init__(
        self,
        model: Model,
        source: str,
        real_values: dict[str, Array],
        exact_values: dict[str, Array],
    ) -> None:
        self.step = EndToEndStep(source)
        self.model = model
        self._session = InferenceSession(model.path)
        self._given_session = self._cut(real_values, exact_values) if real_values else None
        self._correct = [0, 0]
        self._labelled = False

    def _cut(
        self, real_values: dict[str, Array], exact_values: dict[str, Array]
    ) -> InferenceSession:
        """Opens the file from the values on that real numbers decide, its inner bits exposed."""
        given, exact = (
            [describe(name, array, free_batch=True) for name, array in values.items()]
            for values in (real_values, exact_values)
        )
        inner = [value for value in exact if value.name not in self.model.outputs]
        outputs = [*self.model.proto.graph.output, *inner]
        return InferenceSession(self.model.part(given, outputs, functions=True).SerializeToString())

    def run(self, batches: Iterable[Batch]) -> EndToEndStep:
        """Compares all batches."""
        for batch in batches:
            self._compare(batch)
        step = self.step
        step.allowed = max(1, round(step.images * (1 - AGREEMENT)))
        if self._labelled:
            step.trained_accuracy, step.deployed_accuracy = (
                count / step.images for count in self._correct
            )
        return step

    def _compare(self, batch: Batch) -> None:
        step, start = self.step, self.step.images
        got = _run(self._session, batch.inputs)[self.model.outputs[0]]
        step.disagreements += _disagreements(batch, got, start, tie=0.0)
        step.worst = max(step.worst, numbers_differ(got, batch.expected).worst)
        if self._given_session is not None:
            values = _run(self._given_session, batch.inputs | batch.given)
            given = values[self.model.outputs[0]]
            step.given_disagreements += _disagreements(batch, given, start, tie=TIE)
            step.given = (step.given or 0) + len(given)
            self._count_bits(values, batch.exact)
        if batch.labels is not None:
            self._labelled = True
            for which, outputs in enumerate((batch.expected, got)):
                self._correct[which] += int((outputs.argmax(axis=1) == batch.labels).sum())
        step.images += len(got)

    def _count_bits(self, got: dict[str, Array], exact: dict[str, Array]) -> None:
        for name, expected in exact.items():
            differ = bits_differ if expected.dtype == np.uint32 else numbers_differ
            found = differ(got[name], expected)
            self.step.bits_compared += found.compared
            if found.differing:
                before = self.step.bits_differing.get(name, 0)
                self.step.bits_differing[name] = before + found.differing


def _run(session: InferenceSession, feeds: dict[str, Array]) -> dict[str, Array]:
    """Runs a session on those feeds that it asks for; returns its outputs by name."""
    wanted = {entry.name for entry in session.get_inputs()}
    results = session.run(None, {name: array for name, array in feeds.items() if name in wanted})
    return dict(zip((entry.name for entry in session.get_outputs()), results, strict=True))


def _disagreements(batch: Batch, got: Array, start: int, tie: float) -> list[Disagreement]:
    """Lists the rows whose class differs; a lead below ``tie`` of the largest output is none."""
    trained, deployed = batch.expected.argmax(axis=1), got.argmax(axis=1)
    found = []
    for row in np.flatnonzero(trained != deployed):
        outputs = batch.expected[row]
        margin = float(outputs[trained[row]] - outputs[deployed[row]])
        if margin > tie * float(np.abs(outputs).max()) or tie == 0.0:
            label = None if batch.labels is None else int(batch.labels[row])
            found.append(
                Disagreement(start + int(row), label, int(trained[row]), int(deployed[row]), margin)
            )
    return found
