"""Runs the application with uvicorn until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from bnndeploy.errors import BnnDeployError
from bnndeploy.service.app import create_app
from bnndeploy.service.metrics import Metrics
from bnndeploy.service.repository import Repository
from bnndeploy.service.settings import Settings

_KEEP_ALIVE = 60  # seconds; clients reuse connections, and closing early makes them fail


class Server(uvicorn.Server):
    """Serves one repository; a signal drains it, a second one stops waiting.

    Args:
        source: Model file or repository folder.
        settings: The limits.
        name: Name of a single file's model.
    """

    def __init__(self, source: Path, settings: Settings, name: str | None = None) -> None:
        metrics = Metrics()
        self.repository = Repository(source, settings, metrics, name)
        config = uvicorn.Config(
            create_app(self.repository, metrics),
            log_config=None,
            access_log=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=max(1, round(settings.drain)),
        )
        super().__init__(config)

    def run_until_stopped(
        self, host: str, port: int, announce: Callable[[str], None] = lambda url: None
    ) -> None:
        """Loads the models, then serves them; ``announce`` is given the address once it answers.

        Raises:
            BnnDeployError: If no model can be loaded or the address cannot be used.
        """
        self._announce = announce
        asyncio.run(self._run(host, port))

    async def _run(self, host: str, port: int) -> None:
        with _bind(host, port) as listener:
            await self.repository.start()  # here and not in the application: one line if it fails
            await self.serve(sockets=[listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens, then tells the address."""
        await super().startup(sockets)
        for listener in sockets or []:
            address, port = listener.getsockname()[:2]
            self._announce(f"http://{f'[{address}]' if ':' in address else address}:{port}")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drains instead of uvicorn's raising the signal again, so that the exit code is 0."""
        self.repository.draining = True
        self.force_exit = self.should_exit
        self.should_exit = True


def _bind(host: str, port: int) -> socket.socket:
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        if listener:
            listener.close()
        raise BnnDeployError(
            f"address {host}:{port}: cannot be used ({error.strerror}); choose another host or port"
        ) from error
    return listener


def configure_logging(level: str) -> None:
    """Writes the service's log to standard error."""
    logging.basicConfig(level=level.upper(), format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # its start and stop are ours to tell
