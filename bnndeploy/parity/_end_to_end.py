"""Step 4: classes and outputs of the whole file on a data set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bnndeploy.parity._model import Array, Model, describe
from bnndeploy.parity._report import Disagreement, EndToEndStep
from bnndeploy.runtime import InferenceSession

AGREEMENT = 0.9999
"""Of classes from pixels: flips in the first real layer may turn a near tie."""

TIE = 1e-5
"""Of the lead of a class, relative to the largest output: what rounding may turn."""


@dataclass(frozen=True)
class Batch:
    """Inputs, what the trained module says, and its activations where the file was real."""

    inputs: dict[str, Array]
    expected: Array
    given: dict[str, Array]
    labels: Array | None = None


class EndToEnd:
    """Runs the whole file, and the file from its binary activations on, batch by batch."""

    def __init__(self, model: Model, source: str, real_values: dict[str, Array]) -> None:
        self.step = EndToEndStep(source)
        self.model = model
        self._session = InferenceSession(model.path)
        self._given_session = self._cut(real_values) if real_values else None
        self._correct = [0, 0]
        self._labelled = False

    def _cut(self, real_values: dict[str, Array]) -> InferenceSession:
        """Opens the file from the values on that real arithmetic decides."""
        values = [describe(n, array, free_batch=True) for n, array in real_values.items()]
        part = self.model.part(values, list(self.model.proto.graph.output), functions=True)
        return InferenceSession(part.SerializeToString())

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
        got = _first(self._session, batch.inputs)
        step.disagreements += _disagreements(batch, got, start, tie=0.0)
        difference = np.abs(got.astype(np.float64) - batch.expected)
        step.worst = max(step.worst, float(difference.max(initial=0.0)))
        if self._given_session is not None:
            given = _first(self._given_session, batch.inputs | batch.given)
            step.given_disagreements += _disagreements(batch, given, start, tie=TIE)
            step.given = (step.given or 0) + len(given)
        if batch.labels is not None:
            self._labelled = True
            for which, outputs in enumerate((batch.expected, got)):
                self._correct[which] += int((outputs.argmax(axis=1) == batch.labels).sum())
        step.images += len(got)


def _first(session: InferenceSession, feeds: dict[str, Array]) -> Array:
    """Runs a session on those feeds that it asks for."""
    wanted = {entry.name for entry in session.get_inputs()}
    outputs: Sequence[Array] = session.run(
        None, {name: array for name, array in feeds.items() if name in wanted}
    )
    return outputs[0]


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
