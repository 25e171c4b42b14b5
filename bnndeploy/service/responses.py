"""Encodes inference answers of the Open Inference Protocol v2."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bnndeploy.service.datatypes import BYTES, Array, to_binary, to_json
from bnndeploy.service.request_error import bad_request


@dataclass(frozen=True)
class OutputTensor:
    """Holds one output and how it is to travel."""

    name: str
    datatype: str
    array: Array
    binary: bool


@dataclass(frozen=True)
class EncodedResponse:
    """Holds a body; ``header_length`` is the size of its JSON where raw tensors follow."""

    body: bytes
    header_length: int | None = None


def encode_response(
    model: str, version: str, request_id: str | None, outputs: Sequence[OutputTensor]
) -> EncodedResponse:
    """Encodes the answer.

    Raises:
        RequestError: If an output has no JSON form and was not asked for as binary data.
    """
    entries = []
    raw = []
    for output in outputs:
        entry: dict[str, object] = {
            "name": output.name,
            "datatype": output.datatype,
            "shape": list(output.array.shape),
        }
        if output.binary:
            raw.append(to_binary(output.array, output.datatype))
            entry["parameters"] = {"binary_data_size": len(raw[-1])}
        else:
            entry["data"] = to_json(output.array, output.datatype, f"output {output.name}")
        entries.append(entry)
    document = {"model_name": model, "model_version": version, "outputs": entries}
    if request_id is not None:
        document["id"] = request_id
    header = json.dumps(document, allow_nan=False).encode()
    return EncodedResponse(b"".join([header, *raw]), len(header) if raw else None)


def best_classes(output: OutputTensor, count: int, labels: Sequence[str]) -> OutputTensor:
    """Replaces the values along the last axis by the best ``count`` as "value:index:label".

    Shape: ``(..., C)`` to BYTES ``(..., count)``, best first (the classification extension).
    """
    values = output.array
    if output.datatype == BYTES or values.ndim == 0:
        raise bad_request(f"output {output.name}: has no classes to choose from")
    order = np.argsort(-values.astype(np.float64), axis=-1, kind="stable")[..., :count]
    named = len(labels) == values.shape[-1]
    chosen = np.take_along_axis(values, order, axis=-1)
    texts = np.empty(order.shape, dtype=object)
    for position, index in np.ndenumerate(order):
        label = f":{labels[int(index)]}" if named else ""
        texts[position] = f"{chosen[position]:f}:{index}{label}"
    return OutputTensor(output.name, BYTES, texts, output.binary)
