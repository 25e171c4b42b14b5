"""One version of one model: its session, its batcher and what the protocol says about it."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

from bnndeploy.errors import BnnDeployError
from bnndeploy.runtime import Classifier, Guess, InferenceSession
from bnndeploy.runtime.signature import read_signature
from bnndeploy.service.batcher import Batcher, Feeds
from bnndeploy.service.datatypes import Array
from bnndeploy.service.metrics import Metrics
from bnndeploy.service.request_error import RequestError, bad_request
from bnndeploy.service.requests import InferRequest, RequestedOutput
from bnndeploy.service.responses import (
    EncodedResponse,
    OutputTensor,
    best_classes,
    encode_response,
)
from bnndeploy.service.settings import Settings

PLATFORM = "onnxruntime_onnx"


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
        signature = read_signature(session)
        self.inputs, self.outputs = signature.inputs, signature.outputs
        self.batched = signature.batched
        self.labels = session.read_metadata().classes
        self.classifier = _classifier(session)
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
            try:
                outputs: Sequence[Array] = session.run(list(self.outputs), dict(feeds))
            except Exception as error:  # onnxruntime raises its own class per status code
                reason = str(error).strip().splitlines()[0]
                raise RequestError(500, f"model {name}: cannot be run ({reason})") from error
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
        for name, spec in self.inputs.items():
            tensor = request.inputs[name]
            if not spec.accepts(tensor.datatype, tensor.array.shape):
                raise bad_request(
                    f"input {name}: got {tensor.datatype} {list(tensor.array.shape)}, expected "
                    f"{spec.datatype} {spec.sizes} (-1 is any size)"
                )
        return {name: request.inputs[name].array for name in self.inputs}

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


def _classifier(session: InferenceSession) -> Classifier | str:
    """Returns the classifier, or why the model is none."""
    try:
        return Classifier(session)
    except BnnDeployError as error:
        return str(error)
