"""Classifies images with a session, by the metadata of its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bnndeploy.errors import DataError, ModelFileError
from bnndeploy.runtime.images import Float, decode_image, load_input
from bnndeploy.runtime.metadata import InputSpec, ModelMetadata
from bnndeploy.runtime.session import InferenceSession

_BATCH = 64  # images per run: bounds the memory of a long list


@dataclass(frozen=True)
class Guess:
    """Holds one class and its probability."""

    label: str
    probability: float


class Classifier:
    """Prepares images for one model and ranks its logits.

    Raises:
        ModelFileError: If the model's metadata or graph do not describe an image classifier.
    """

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self.metadata: ModelMetadata = session.read_metadata()
        if self.metadata.input is None:
            raise ModelFileError(
                "metadata bnndeploy.input: got none, expected the image size and normalisation "
                "that bnndeploy export writes; export the model with bnndeploy"
            )
        self.spec: InputSpec = self.metadata.input
        inputs = session.get_inputs()
        if len(inputs) != 1:
            raise ModelFileError(
                f"model: got inputs {[value.name for value in inputs]}, expected one image input"
            )
        self.input_name: str = inputs[0].name
        self.output_name: str = session.get_outputs()[0].name
        self.row_shape = _row_shape(inputs[0].shape, self.spec)

    def load(self, path: Path, *, invert: bool = False) -> Float:
        """Returns an image or ``.npy`` file as one row of the model's input."""
        return load_input(path, self.spec, invert=invert).reshape(self.row_shape)

    def decode(self, data: bytes, *, name: str, invert: bool = False) -> Float:
        """Returns an encoded image as one row of the model's input."""
        return decode_image(data, self.spec, name=name, invert=invert).reshape(self.row_shape)

    def rank(self, logits: NDArray[np.floating], top: int) -> list[Guess]:
        """Returns the most probable classes of one row of logits, best first (softmax).

        Raises:
            ModelFileError: If the model has not one logit per class.
        """
        values = logits.astype(np.float64).ravel()
        labels = self.metadata.classes or tuple(map(str, range(values.size)))
        if len(labels) != values.size:
            raise ModelFileError(
                f"model: got {values.size} outputs for {len(labels)} classes, expected one each; "
                "export the model again"
            )
        exponentials = np.exp(values - values.max())
        probabilities = exponentials / exponentials.sum()
        best = np.argsort(-probabilities, kind="stable")[:top]
        return [Guess(labels[index], float(probabilities[index])) for index in best]

    def classify(self, rows: Sequence[Float], top: int = 1) -> list[list[Guess]]:
        """Runs prepared rows and ranks each one's classes.

        Raises:
            ModelFileError: If ONNX Runtime fails in the model.
        """
        answers = []
        for start in range(0, len(rows), _BATCH):
            batch = np.stack(rows[start : start + _BATCH])
            try:
                (logits,) = self._session.run([self.output_name], {self.input_name: batch})
            except Exception as error:  # onnxruntime raises its own class per status code
                reason = str(error).strip().splitlines()[0]
                raise ModelFileError(
                    f"model: ONNX Runtime cannot run it ({reason}); export the model again"
                ) from error
            answers += [self.rank(row, top) for row in logits]
        return answers


def classify_files(
    session: InferenceSession, paths: Sequence[Path], top: int = 1, *, invert: bool = False
) -> list[list[Guess]]:
    """Classifies image or ``.npy`` files, in order.

    Raises:
        DataError: If a file cannot be read or does not fit; nothing is classified then.
    """
    if not paths:
        raise DataError("images: got none, expected at least one file")
    classifier = Classifier(session)
    return classifier.classify([classifier.load(path, invert=invert) for path in paths], top)


def _row_shape(shape: Sequence[int | str | None], spec: InputSpec) -> tuple[int, ...]:
    """Shape of one row: the image, or its pixels in a line for a network without convolutions."""
    pixels = int(np.prod(spec.shape))
    for row in (spec.shape, (pixels,)):
        sizes = shape[1:]
        fits = len(sizes) == len(row) and all(
            not isinstance(size, int) or size == expected
            for size, expected in zip(sizes, row, strict=True)
        )
        if fits and not isinstance(shape[0], int):
            return row
    raise ModelFileError(
        f"model: got an input of shape {list(shape)}, expected [batch, "
        f"{', '.join(map(str, spec.shape))}] or [batch, {pixels}] with a free batch, as the "
        "metadata bnndeploy.input says; export the model again"
    )
