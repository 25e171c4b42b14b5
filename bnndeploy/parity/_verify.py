"""Proves in four steps that a file computes what was trained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bnndeploy.parity._end_to_end import Batch, EndToEnd
from bnndeploy.parity._model import Array, Model
from bnndeploy.parity._nodes import NodeSteps
from bnndeploy.parity._report import EndToEndStep, NodeStep, ParityReport
from bnndeploy.parity._reproducer import Reproducer, refuse_filled
from bnndeploy.parity._sample import SampleReference, check_weights
from bnndeploy.parity._variants import kernel_variants
from bnndeploy.parity._walk import NodeRun, walk

if TYPE_CHECKING:
    from bnndeploy.training import TrainedRun
    from bnndeploy.training.data import DataSplits


class Reference(Protocol):
    """What a file is held against: the trained module, or its outputs in the file.

    Attributes:
        name: The run, if there is one.
        feeds: The inputs for steps 1 to 3.
        source: Where the inputs of step 4 come from.
        real_values: Probed values that real numbers decide, as steps 1 to 3 saw them.
        exact_values: Probed values that follow from bits alone.
        reproducer: The first difference of step 1.
    """

    name: str | None
    feeds: dict[str, Array]
    source: str
    real_values: dict[str, Array]
    exact_values: dict[str, Array]
    reproducer: Reproducer | None

    def see(self, run: NodeRun) -> None:
        """Compares the values of one node and may put the trained ones in their place."""

    def finish(self, outputs: dict[str, Array]) -> NodeStep:
        """Compares the outputs of the graph and returns step 1."""

    def batches(self) -> Iterator[Batch]:
        """Yields the inputs of step 4 with what they should give."""


def verify(
    model_path: str | Path,
    run: TrainedRun | None = None,
    data: DataSplits | None = None,
    limit: int | None = None,
    bisect: Path | None = None,
) -> ParityReport:
    """Compares a model file with what was trained, in four steps.

    Args:
        model_path: The file.
        run: The run that it was exported from; None takes the sample in the file.
        data: The data set whose test images step 4 classifies and whose first ones steps 1 to 3
            run on; None takes the inputs of the sample.
        limit: How many test images to classify at most.
        bisect: A folder for a minimal reproducer of the first difference: model.onnx,
            inputs.npz and expected.npz.

    Raises:
        ModelFileError: If the file cannot be read or lacks what the comparison needs.
        CheckpointError: If the run is not the one of the file.
        ExportError: If the folder for the reproducer holds something.
    """
    if bisect is not None:
        refuse_filled(bisect)
    model = Model(Path(model_path))
    reference = _reference(model, run, data, limit)
    nodes = NodeSteps(model, kernel_variants())
    outputs: dict[str, Array] = {}
    wanted = set(model.outputs)
    for node_run in walk(model, reference.feeds):
        nodes.see(node_run)  # first: the reference may replace what the oracle gave
        reference.see(node_run)
        outputs |= {name: node_run.outputs[name] for name in node_run.outputs.keys() & wanted}
    first = reference.finish({name: outputs[name] for name in model.outputs})
    first.checks += check_weights(model)
    end_to_end = EndToEnd(model, reference.source, reference.real_values, reference.exact_values)
    last = end_to_end.run(reference.batches())
    steps: list[NodeStep | EndToEndStep] = [first, nodes.kernels, nodes.functions, last]
    samples = len(next(iter(reference.feeds.values())))
    report = ParityReport(str(model.path), reference.name, samples, steps)
    reproducer = reference.reproducer or nodes.reproducer
    if bisect is not None and reproducer is not None:
        reproducer.write(bisect)
        report.reproducer = reproducer.subject
    return report


def _reference(
    model: Model, run: TrainedRun | None, data: DataSplits | None, limit: int | None
) -> Reference:
    if run is None:
        return SampleReference(model)
    from bnndeploy.parity._trained import RunReference  # torch loads only where there is a run

    return RunReference(model, run, data, limit)
