"""One version of one model: its session, its batcher and what the protocol says about it."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bnndeploy.errors import BnnDeployError, ModelFileError
from bnndeploy.runtime import Classifier, Guess, InferenceSession
from bnndeploy.service.batcher import Batcher, Feeds
from bnndeploy.service.datatypes import Array, from_onnx
from bnndeploy.service.metrics import Metrics
from bnndeploy.service.request_error import RequestError, bad_request
from bnndeploy.service.requests import InferRequest, RequestedOutput, Tensor
from bnndeploy.service.responses import (
    EncodedResponse,
    OutputTensor,
    best_classes,
    encode_response,
)
from bnndeploy.service.settings import Settings

PLATFORM = "onnxruntime_onnx"


@dataclass(frozen=True)
class TensorSpec:
    """Describes one input or output; a size that is a name or None is free."""

    name: str
    datatype: str
    shape: tuple[int | str | None, ...]

    def describe(self) -> dict[str, Any]:
        """Returns the protocol's description; a free size is -1."""
        return {
            "name": self.name,
            "datatype": self.datatype,
            "shape": [size if isinstance(size, int) else -1 for size in self.shape],
        }

    def check(self, tensor: Tensor) -> Array:
        """Returns the array if it fits, and raises a 400 otherwise."""
        shape = tensor.array.shape
        fits = len(shape) == len(self.shape) and all(
            not isinstance(size, int) or size == got
            for size, got in zip(self.shape, shape, strict=True)
        )
        if tensor.datatype != self.datatype or not fits:
            expected = self.describe()
            raise bad_request(
                f"input {self.name}: got {tensor.datatype} {list(shape)}, expected "
                f"{self.datatype} {expected['shape']} (-1 is any size)"
            )
        return tensor.array


class ServedModel:
    """Answers requests with one session; it is created and used in one event loop.

    Raises:
        ModelFileError: If an input or output has a type that the protocol has no name for.
    """

    def __init__(
        self,
        name: str,
        version: int,
        session: InferenceSession,
        settings: Settings,
        metrics: Metrics,
    ) -> None:
        self.name = name
        self.version = version
        self.inputs = _specs(session.get_inputs())
        self.outputs = _specs(session.get_outputs())
        self.labels = session.read_metadata().classes
        self.classifier = _classifier(session)
        self.batched = _has_free_batch([*self.inputs.values(), *self.outputs.values()])
        self._timeout = settings.timeout
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()
        labels = (name, str(version))
        rows, seconds = metrics.batch_rows.labels(*labels), metrics.batch_seconds.labels(*labels)

        def observe(run_rows: int, run_seconds: float) -> None:
            rows.observe(run_rows)
            seconds.observe(run_seconds)

        def run(feeds: Feeds) -> Sequence[Array]:
            outputs: Sequence[Array] = session.run(list(self.outputs), dict(feeds))
            return outputs

        self._batcher = Batcher(run, settings, observe)
        self._pending = metrics.pending.labels(*labels)

    @contextmanager
    def in_use(self) -> Iterator[ServedModel]:
        """Keeps the model open until the request that holds it has its answer."""
        self._users += 1
        self._unused.clear()
        try:
            yield self
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def close(self) -> None:
        """Waits for the requests that hold the model, then frees it."""
        await self._unused.wait()
        await self._batcher.close()

    async def infer(self, request: InferRequest) -> EncodedResponse:
        """Answers one decoded request.

        Raises:
            RequestError: If the request does not fit the model, or takes too long.
        """
        feeds = self._feeds(request)
        wanted = self._wanted(request)
        arrays = dict(zip(self.outputs, await self.run(feeds, request.timeout), strict=True))
        outputs = [self._output(output, arrays[output.name]) for output in wanted]
        return encode_response(self.name, str(self.version), request.id, outputs)

    async def classify(self, image: bytes, top: int, *, invert: bool) -> list[Guess]:
        """Ranks the classes of one encoded image.

        Raises:
            RequestError: If the model is no image classifier, or takes too long.
            DataError: If the image cannot be read.
        """
        if not isinstance(self.classifier, Classifier):
            raise bad_request(f"model {self.name}: classifies no images ({self.classifier})")
        row = await asyncio.to_thread(self.classifier.decode, image, name="image", invert=invert)
        outputs = await self.run({self.classifier.input_name: row[None]})
        logits = dict(zip(self.outputs, outputs, strict=True))[self.classifier.output_name]
        return self.classifier.rank(logits[0], top)

    async def run(self, feeds: Feeds, timeout: float | None = None) -> Sequence[Array]:
        """Returns all outputs for checked inputs, within the service's and the client's time."""
        limit = self._timeout if timeout is None else min(timeout, self._timeout)
        try:
            with self._pending.track_inprogress():
                return await asyncio.wait_for(self._batcher.submit(feeds, self._key(feeds)), limit)
        except TimeoutError:
            raise RequestError(
                504, f"model {self.name}: no answer within {limit:g} s, ask again later"
            ) from None

    def _key(self, feeds: Feeds) -> Hashable | None:
        """Requests with equal keys can be joined along the first axis."""
        if not self.batched or len({len(array) for array in feeds.values()}) != 1:
            return None
        return tuple((name, array.shape[1:]) for name, array in sorted(feeds.items()))

    def _feeds(self, request: InferRequest) -> Feeds:
        if set(request.inputs) != set(self.inputs):
            raise bad_request(
                f"model {self.name}: got inputs {sorted(request.inputs)}, expected "
                f"{sorted(self.inputs)}"
            )
        return {name: spec.check(request.inputs[name]) for name, spec in self.inputs.items()}

    def _wanted(self, request: InferRequest) -> Sequence[RequestedOutput]:
        if request.outputs is None:
            return [RequestedOutput(name, request.binary) for name in self.outputs]
        for output in request.outputs:
            if output.name not in self.outputs:
                raise bad_request(
                    f"output {output.name}: is unknown, expected one of {sorted(self.outputs)}"
                )
        return request.outputs

    def _output(self, wanted: RequestedOutput, array: Array) -> OutputTensor:
        datatype = self.outputs[wanted.name].datatype
        output = OutputTensor(wanted.name, datatype, array, wanted.binary)
        return best_classes(output, wanted.classes, self.labels) if wanted.classes else output


def _specs(values: Sequence[Any]) -> dict[str, TensorSpec]:
    specs = {}
    for value in values:
        datatype = from_onnx(value.type)
        if datatype is None:
            raise ModelFileError(
                f"value {value.name}: got type {value.type}, expected a tensor type of the Open "
                "Inference Protocol; serve a model with numeric or string tensors"
            )
        specs[value.name] = TensorSpec(value.name, datatype, tuple(value.shape))
    return specs


def _has_free_batch(specs: Sequence[TensorSpec]) -> bool:
    """Tells whether all values share one free, named first size: the batch."""
    first = {spec.shape[0] if spec.shape else None for spec in specs}
    return len(first) == 1 and isinstance(first.pop(), str)


def _classifier(session: InferenceSession) -> Classifier | str:
    """Returns the classifier, or why the model is none."""
    try:
        return Classifier(session)
    except BnnDeployError as error:
        return str(error)
