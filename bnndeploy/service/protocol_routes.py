"""The routes of the Open Inference Protocol v2 and of its model repository extension.

Reference: https://github.com/open-inference-protocol/open-inference-protocol and the extensions
binary_tensor_data, classification, model_configuration and model_repository.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse

import bnndeploy
from bnndeploy.runtime.signature import TensorSpec
from bnndeploy.service.bodies import read_body
from bnndeploy.service.metrics import Metrics
from bnndeploy.service.repository import Repository
from bnndeploy.service.request_error import bad_request
from bnndeploy.service.requests import decode_json, decode_request
from bnndeploy.service.responses import EncodedResponse
from bnndeploy.service.served_model import PLATFORM, ServedModel

HEADER_LENGTH = "Inference-Header-Content-Length"
EXTENSIONS = ["binary_tensor_data", "classification", "model_configuration", "model_repository"]
# Parsing more than this would keep other requests waiting, so a thread does it.
_LARGE_BODY = 2**18

router = APIRouter(prefix="/v2")


# These are coroutines because FastAPI would run a plain function in a thread, for every request.
async def get_repository(request: Request) -> Repository:
    """Returns the models of the application that a request came to."""
    repository: Repository = request.app.state.repository
    return repository


async def get_metrics(request: Request) -> Metrics:
    """Returns the counters of the application that a request came to."""
    metrics: Metrics = request.app.state.metrics
    return metrics


Models = Annotated[Repository, Depends(get_repository)]
Counters = Annotated[Metrics, Depends(get_metrics)]


# First, because routes are tried in this order and nearly all requests are of this one.
@router.post("/models/{name}/infer")
@router.post("/models/{name}/versions/{version}/infer")
async def infer(
    request: Request, models: Models, counters: Counters, name: str, version: str | None = None
) -> Response:
    """Runs a model."""
    # Before the model is looked up: a client that is still sending would not see the answer 404.
    body = await read_body(request, models.settings.body_limit, models.settings.timeout)
    model = models.find(name, version)
    with model.in_use(), counters.count_request(name, model.version):
        encoded = await _infer(body, request.headers.get(HEADER_LENGTH), model)
    if encoded.header_length is None:
        return Response(encoded.body, media_type="application/json")
    headers = {HEADER_LENGTH: str(encoded.header_length)}
    return Response(encoded.body, headers=headers, media_type="application/octet-stream")


async def _infer(body: bytes, header_length: str | None, model: ServedModel) -> EncodedResponse:
    if len(body) > _LARGE_BODY:
        return await model.infer(await asyncio.to_thread(decode_request, body, header_length))
    return await model.infer(decode_request(body, header_length))


@router.get("/health/live")
async def live() -> Response:
    """Answers 200 as long as the process answers at all."""
    return Response()


@router.get("/health/ready")
async def ready(models: Models) -> Response:
    """Answers 200 if a model is loaded and the service is not being stopped, else 503."""
    return Response(status_code=200 if models.ready else 503)


@router.get("")
async def server_metadata() -> dict[str, Any]:
    """Describes the service."""
    return {"name": "bnndeploy", "version": bnndeploy.__version__, "extensions": EXTENSIONS}


@router.get("/models/{name}")
@router.get("/models/{name}/versions/{version}")
async def model_metadata(models: Models, name: str, version: str | None = None) -> dict[str, Any]:
    """Describes the inputs and outputs of a model."""
    model = models.find(name, version)
    return {
        "name": name,
        "versions": models.versions(name),
        "platform": PLATFORM,
        "inputs": [_describe(spec) for spec in model.inputs.values()],
        "outputs": [_describe(spec) for spec in model.outputs.values()],
    }


def _describe(spec: TensorSpec) -> dict[str, Any]:
    return {"name": spec.name, "datatype": spec.datatype, "shape": spec.sizes}


@router.get("/models/{name}/ready")
@router.get("/models/{name}/versions/{version}/ready")
async def model_ready(models: Models, name: str, version: str | None = None) -> Response:
    """Answers 200 if the model is loaded."""
    models.find(name, version)
    return Response()


@router.get("/models/{name}/config")
@router.get("/models/{name}/versions/{version}/config")
async def model_config(models: Models, name: str, version: str | None = None) -> dict[str, Any]:
    """Describes a model in the words of Triton's configuration."""
    model = models.find(name, version)
    return {
        "name": name,
        "platform": PLATFORM,
        "backend": "onnxruntime",
        "max_batch_size": models.settings.max_batch if model.batched else 0,
        "input": [_configure(spec, model.batched) for spec in model.inputs.values()],
        "output": [_configure(spec, model.batched) for spec in model.outputs.values()],
    }


def _configure(spec: TensorSpec, batched: bool) -> dict[str, Any]:
    dims = spec.sizes[1:] if batched else spec.sizes
    return {"name": spec.name, "data_type": spec.triton_type, "dims": dims}


@router.post("/repository/index")
async def repository_index(request: Request, models: Models) -> JSONResponse:
    """Lists all models and versions; ``{"ready": true}`` lists those that are loaded."""
    only_ready = (await _document(request, models)).get("ready") is True
    entries = models.index()
    return JSONResponse([entry for entry in entries if entry["state"] == "READY" or not only_ready])


@router.post("/repository/models/{name}/load")
async def load(request: Request, models: Models, name: str) -> Response:
    """Loads a model from its files, again if it is loaded."""
    if (await _document(request, models)).get("parameters"):
        raise bad_request(
            f"model {name}: loading takes no parameters, put the files into the repository"
        )
    await models.load(name)
    return Response()


@router.post("/repository/models/{name}/unload")
async def unload(models: Models, name: str) -> Response:
    """Unloads a model until it is loaded by request."""
    await models.unload(name)
    return Response()


async def _document(request: Request, models: Repository) -> dict[str, Any]:
    """The body of a request that may have none."""
    limits = models.settings
    body = await read_body(request, limits.body_limit, limits.timeout)
    return decode_json(body) if body.strip() else {}
