"""``bnndeploy serve``: answers inference requests over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option, echo


def serve(
    source: Annotated[Path, Argument(help="ONNX file, or folder of <name>/<version>/model.onnx.")],
    host: Annotated[str, Option(help="Address; 0.0.0.0 takes requests from other machines.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    name: Annotated[str | None, Option(help="Name of a single file's model.")] = None,
    max_batch: Annotated[int, Option(min=1, help="Rows run together at most.")] = 32,
    max_delay_ms: Annotated[
        float, Option(min=0, help="How long a request waits for others to join its run.")
    ] = 0.0,
    queue_limit: Annotated[
        int, Option(min=1, help="Waiting requests of a model; further ones are answered 503.")
    ] = 256,
    timeout: Annotated[float, Option(min=0.001, help="Seconds for one request.")] = 30.0,
    body_limit_mb: Annotated[float, Option(min=0.001, help="Largest request body.")] = 64.0,
    poll: Annotated[
        float, Option(min=0, help="Seconds between looks for changed files; 0 never looks.")
    ] = 2.0,
    drain: Annotated[float, Option(min=1, help="Seconds for open requests when stopped.")] = 30.0,
    threads: Annotated[int | None, Option(min=1, help="Threads of each session.")] = None,
    portable: Annotated[
        bool, Option("--portable", help="Run the files' own functions, without our kernels.")
    ] = False,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Option(help="Least level that is logged.")
    ] = "info",
) -> None:
    """Serve a model or a repository of models (Open Inference Protocol v2)."""
    from bnndeploy.service.server import Server, configure_logging
    from bnndeploy.service.settings import Settings

    settings = Settings(
        max_batch=max_batch,
        max_delay=max_delay_ms / 1000,
        queue_limit=queue_limit,
        timeout=timeout,
        body_limit=int(body_limit_mb * 2**20),
        poll=poll,
        drain=drain,
        threads=threads,
        portable=portable,
    )
    configure_logging(log_level)
    Server(source, settings, name).run_until_stopped(
        host, port, lambda url: echo(f"bnndeploy serves {source} at {url} (stop with Ctrl-C)")
    )
