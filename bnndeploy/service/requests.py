"""Decodes inference requests of the Open Inference Protocol v2.

A body is JSON; with the binary extension the header ``Inference-Header-Content-Length`` says how
many bytes of it are JSON, and the raw tensors follow in the order of the inputs, each with its
size in ``parameters.binary_data_size``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bnndeploy.service.datatypes import Array, check_datatype, from_binary, from_json
from bnndeploy.service.request_error import bad_request

_MAX_RANK = 32  # of NumPy before 2.0, and far beyond any model


@dataclass(frozen=True)
class Tensor:
    """Holds one decoded input."""

    datatype: str
    array: Array


@dataclass(frozen=True)
class RequestedOutput:
    """Names one wanted output: as raw bytes or JSON, as values or as the best classes."""

    name: str
    binary: bool
    classes: int = 0


@dataclass(frozen=True)
class InferRequest:
    """Holds a decoded request; ``outputs`` None asks for all of them."""

    id: str | None
    inputs: Mapping[str, Tensor]
    outputs: tuple[RequestedOutput, ...] | None
    binary: bool
    timeout: float | None  # seconds


def decode_request(body: bytes, header_length: str | None = None) -> InferRequest:
    """Decodes a body; ``header_length`` is the text of the header.

    Raises:
        RequestError: With status 400, if anything does not fit the protocol.
    """
    document, rest = _split(body, header_length)
    parameters = _parameters(document, "request")
    binary = parameters.get("binary_data_output", False) is True
    request_id = document.get("id")
    return InferRequest(
        id=None if request_id is None else str(request_id),
        inputs=_inputs(document, rest),
        outputs=_outputs(document, binary),
        binary=binary,
        timeout=_timeout(parameters),
    )


def _split(body: bytes, header_length: str | None) -> tuple[dict[str, Any], memoryview]:
    """Separates the JSON document from the raw bytes behind it."""
    length = len(body)
    if header_length is not None:
        if not (header_length.isascii() and header_length.isdigit()):
            raise bad_request(
                f"Inference-Header-Content-Length: got {header_length[:40]!r}, expected a number"
            )
        if int(header_length[:20]) > len(body):
            raise bad_request(
                f"Inference-Header-Content-Length: got {header_length[:20]}, expected at most the "
                f"{len(body)} bytes of the body"
            )
        length = int(header_length)
    return decode_json(body[:length]), memoryview(body)[length:]


def decode_json(text: bytes) -> dict[str, Any]:
    """Parses a JSON object.

    Raises:
        RequestError: With status 400, if it is none.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise bad_request(f"request: the body is not JSON ({error})") from error
    if not isinstance(document, dict):
        raise bad_request(f"request: got a JSON {type(document).__name__}, expected an object")
    return document


def _inputs(document: dict[str, Any], rest: memoryview) -> dict[str, Tensor]:
    inputs: dict[str, Tensor] = {}
    for entry in _entries(document, "inputs"):
        name = _name(entry, "input")
        if name in inputs:
            raise bad_request(f"input {name}: is given twice")
        inputs[name], rest = _input(entry, f"input {name}", rest)
    if rest:
        raise bad_request(
            f"request: {len(rest)} bytes follow the last binary tensor; expected none"
        )
    return inputs


def _input(entry: dict[str, Any], subject: str, rest: memoryview) -> tuple[Tensor, memoryview]:
    """Decodes one input; returns it and the raw bytes that are left."""
    datatype = check_datatype(entry.get("datatype"), subject)
    shape = entry.get("shape")
    if (
        not isinstance(shape, list)
        or len(shape) > _MAX_RANK
        or not all(type(size) is int and size >= 0 for size in shape)
    ):
        raise bad_request(f"{subject}: got shape {str(shape)[:80]}, expected a list of sizes")
    parameters = _parameters(entry, subject)
    if "shared_memory_region" in parameters:
        raise bad_request(f"{subject}: shared memory is not offered, send the data itself")
    size = parameters.get("binary_data_size")
    if size is None:
        if "data" not in entry:
            raise bad_request(f"{subject}: got no data, expected data or binary_data_size")
        return Tensor(datatype, from_json(entry["data"], datatype, shape, subject)), rest
    if "data" in entry:
        raise bad_request(f"{subject}: got data and binary_data_size, expected one of them")
    if type(size) is not int or not 0 <= size <= len(rest):
        raise bad_request(
            f"{subject}: got binary_data_size {str(size)[:40]}, expected at most the {len(rest)} "
            "bytes that are left of the body"
        )
    return Tensor(datatype, from_binary(rest[:size], datatype, shape, subject)), rest[size:]


def _outputs(document: dict[str, Any], binary: bool) -> tuple[RequestedOutput, ...] | None:
    if not document.get("outputs"):
        return None
    outputs = []
    for entry in _entries(document, "outputs"):
        name = _name(entry, "output")
        parameters = _parameters(entry, f"output {name}")
        if "shared_memory_region" in parameters:
            raise bad_request(f"output {name}: shared memory is not offered")
        classes = parameters.get("classification", 0)
        if type(classes) is not int or classes < 0:
            raise bad_request(
                f"output {name}: got classification {str(classes)[:40]}, expected a number of "
                "classes"
            )
        outputs.append(
            RequestedOutput(name, parameters.get("binary_data", binary) is True, classes)
        )
    return tuple(outputs)


def _entries(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    entries = document.get(key)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise bad_request(f"request: got no list of objects under {key!r}, expected one")
    return entries


def _name(entry: dict[str, Any], kind: str) -> str:
    name = entry.get("name")
    if not isinstance(name, str):
        raise bad_request(f"{kind}: got name {str(name)[:40]!r}, expected a string")
    return name


def _parameters(entry: dict[str, Any], subject: str) -> dict[str, Any]:
    parameters = entry.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise bad_request(f"{subject}: got parameters {str(parameters)[:40]}, expected an object")
    return parameters


def _timeout(parameters: dict[str, Any]) -> float | None:
    """The client's own limit, in microseconds."""
    timeout = parameters.get("timeout")
    if timeout is None:
        return None
    try:
        return max(0.0, int(timeout) / 1e6)
    except (TypeError, ValueError):
        raise bad_request(
            f"request: got timeout {str(timeout)[:40]}, expected microseconds"
        ) from None
