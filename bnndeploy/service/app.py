"""The application: the routes, and every error as ``{"error": message}``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

from bnndeploy.errors import BnnDeployError, DataError
from bnndeploy.service import page_routes, protocol_routes
from bnndeploy.service.metrics import Metrics
from bnndeploy.service.protocol_routes import Counters
from bnndeploy.service.repository import Repository
from bnndeploy.service.request_error import RequestError


def create_app(repository: Repository, metrics: Metrics) -> FastAPI:
    """Returns the ASGI application; its lifespan starts and closes the repository."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await repository.start()
        yield
        await repository.close()

    app = FastAPI(
        title="bnndeploy",
        lifespan=lifespan,
        dependencies=[Depends(refuse_other_origins)],
        # The interactive documentation would load its scripts from another host.
        openapi_url=None,
    )
    app.state.repository = repository
    app.state.metrics = metrics
    app.include_router(protocol_routes.router)
    app.include_router(page_routes.router)
    app.add_api_route("/metrics", render_metrics)
    app.add_exception_handler(BnnDeployError, _answer_ours)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(RequestValidationError, _answer_validation)
    app.add_exception_handler(Exception, _answer_unexpected)
    return app


async def refuse_other_origins(request: Request) -> None:
    """Refuses browsers that were sent here by another site, which could unload models unseen.

    Raises:
        RequestError: With status 403, if the header ``Origin`` names another host.
    """
    origin = request.headers.get("origin")
    if origin and urlsplit(origin).netloc != request.headers.get("host"):
        raise RequestError(403, f"request: comes from {origin[:80]}, expected this service's page")


async def render_metrics(counters: Counters) -> Response:
    """Returns the metrics in Prometheus' text format."""
    return Response(counters.render(), media_type=CONTENT_TYPE_LATEST)


def _answer(
    request: Request, status: int, message: str, headers: dict[str, str] | None = None
) -> JSONResponse:
    metrics: Metrics = request.app.state.metrics
    metrics.refusals.labels(str(status)).inc()
    return JSONResponse({"error": message}, status, headers)


async def _answer_ours(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, RequestError):
        headers = {"Retry-After": str(error.retry_after)} if error.retry_after else None
        return _answer(request, error.status, str(error), headers)
    return _answer(request, 400 if isinstance(error, DataError) else 500, str(error))


async def _answer_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path}: {error.detail.lower()}"
    return _answer(request, error.status_code, message, dict(error.headers or {}))


async def _answer_validation(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    return _answer(request, 400, f"parameter {first['loc'][-1]}: {first['msg'].lower()}")


async def _answer_unexpected(request: Request, error: Exception) -> JSONResponse:
    message = f"internal error ({type(error).__name__}); the server's log has the rest"
    return _answer(request, 500, message)
