"""The models being served: loading, unloading and following their files.

A model file that changes is loaded beside the old one, which answers its requests to the end; a
file that cannot be loaded leaves the old one serving. All methods run in one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from pathlib import Path

from bnndeploy.errors import BnnDeployError, ModelFileError
from bnndeploy.runtime import InferenceSession
from bnndeploy.service.metrics import Metrics
from bnndeploy.service.model_files import MODEL_FILE, ModelFile, find_models
from bnndeploy.service.request_error import RequestError
from bnndeploy.service.served_model import ServedModel
from bnndeploy.service.settings import Settings

log = logging.getLogger(__name__)

Key = tuple[str, int]


@dataclass
class _Entry:
    """Holds what is known about one version of one model."""

    file: ModelFile | None = None  # as it was at the last attempt to load it
    model: ServedModel | None = None
    reason: str = ""


class Repository:
    """Owns the models of a service.

    Args:
        source: Model file, or folder of ``<name>/<version>/model.onnx``.
        settings: The service's limits.
        metrics: Counts loads; the models count their batches.
        name: Name of a single file's model.
    """

    def __init__(
        self, source: Path, settings: Settings, metrics: Metrics, name: str | None = None
    ) -> None:
        self.settings = settings
        self.draining = False
        self._source = source
        self._name = name
        self.metrics = metrics
        self._entries: dict[Key, _Entry] = {}
        self._unloaded: set[str] = set()  # by request: their files are not followed
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._watcher: asyncio.Task[None] | None = None

    @property
    def ready(self) -> bool:
        """Tells whether new requests are welcome: a model is there and no stop was asked for."""
        return not self.draining and any(entry.model for entry in self._entries.values())

    async def start(self) -> None:
        """Loads all models and follows their files; a second call does nothing.

        Raises:
            ModelFileError: If not one model can be loaded.
        """
        if self._watcher:
            return
        async with self._lock:
            await self._follow_files()
        if not self.ready:
            reasons = [entry.reason for entry in self._entries.values()]
            raise ModelFileError(
                reasons[0]
                if reasons
                else f"{self._source}: got no model, expected <name>/<version>/{MODEL_FILE}"
            )
        self._watcher = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """Answers the requests under way and frees all models."""
        self.draining = True
        if self._watcher:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher
        async with self._lock:
            for entry in self._entries.values():
                self._retire(entry)
        while self._tasks:
            await asyncio.gather(*self._tasks)

    def find(self, name: str, version: str | None = None) -> ServedModel:
        """Returns a model; without a version the highest one that is loaded.

        Raises:
            RequestError: With status 404 if it is unknown, 503 if it is not loaded.
        """
        entries = self._versions(name)
        wanted = f"model {name}" + (f" version {version}" if version else "")
        if version is not None:
            entries = {key: entry for key, entry in entries.items() if str(key[1]) == version}
        if not entries:
            raise _unknown(wanted)
        loaded = [(key, entry.model) for key, entry in entries.items() if entry.model]
        if not loaded:
            raise RequestError(503, f"{wanted}: is not loaded, see /v2/repository/index")
        return max(loaded, key=lambda pair: pair[0])[1]

    def names(self) -> list[str]:
        """Returns the names of the models of which a version is loaded."""
        return sorted({key[0] for key, entry in self._entries.items() if entry.model})

    def versions(self, name: str) -> list[str]:
        """Returns the loaded versions of a model, in order."""
        return [str(key[1]) for key, entry in sorted(self._versions(name).items()) if entry.model]

    def index(self) -> list[dict[str, str]]:
        """Returns the state of every version, as the repository extension words it."""
        return [
            {
                "name": name,
                "version": str(version),
                "state": "READY" if entry.model else "UNAVAILABLE",
                "reason": entry.reason,
            }
            for (name, version), entry in sorted(self._entries.items())
        ]

    async def load(self, name: str) -> None:
        """Loads all versions of a model from their files, again if they are loaded.

        Raises:
            RequestError: With status 404 if it has no file, 400 if a version cannot be loaded; what
                was loaded before stays.
        """
        async with self._lock:
            self._unloaded.discard(name)
            for entry in self._versions(name).values():
                entry.file = None
            await self._follow_files()
        entries = self._versions(name)
        if not entries:
            raise RequestError(404, f"model {name}: has no {MODEL_FILE} in {self._source}")
        for entry in entries.values():
            if entry.reason:
                raise RequestError(400, entry.reason)

    async def unload(self, name: str) -> None:
        """Unloads all versions of a model, until it is loaded by request.

        Raises:
            RequestError: With status 404, if it is unknown.
        """
        async with self._lock:
            entries = self._versions(name)
            if not entries:
                raise _unknown(f"model {name}")
            self._unloaded.add(name)
            for entry in entries.values():
                entry.reason = "unloaded by request"
                self._retire(entry)

    async def _follow_files(self) -> None:
        """Loads new and changed files, and drops the versions whose files are gone."""
        files = await asyncio.to_thread(find_models, self._source, self._name)
        for key, file in files.items():
            entry = self._entries.setdefault(key, _Entry())
            if key[0] not in self._unloaded and entry.file != file:
                await self._load(key, entry, file)
        for key in self._entries.keys() - files.keys():
            self._retire(self._entries.pop(key))
            log.info("model %s version %d: file is gone, unloaded", *key)

    async def _load(self, key: Key, entry: _Entry, file: ModelFile) -> None:
        entry.file = file
        try:
            session = await asyncio.to_thread(
                InferenceSession,
                file.path,
                threads=self.settings.threads,
                portable=self.settings.portable,
            )
            model = ServedModel(*key, session, self.settings, self.metrics)
        except BnnDeployError as error:
            entry.reason = str(error)
            self.metrics.loads.labels(key[0], "failed").inc()
            log.warning("model %s version %d: %s", *key, error)
            return
        self._retire(entry)
        entry.model, entry.reason = model, ""
        self.metrics.loads.labels(key[0], "loaded").inc()
        log.info("model %s version %d: loaded from %s", *key, file.path)

    def _retire(self, entry: _Entry) -> None:
        """Lets the model answer the requests that hold it, and then go."""
        if entry.model:
            task = asyncio.create_task(entry.model.close())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            entry.model = None

    async def _watch(self) -> None:
        last_problem = ""
        while self.settings.poll:
            await asyncio.sleep(self.settings.poll)
            try:
                async with self._lock:
                    await self._follow_files()
                last_problem = ""
            except ModelFileError as error:  # the models that are loaded go on
                if str(error) != last_problem:
                    log.warning("%s", error)
                last_problem = str(error)

    def _versions(self, name: str) -> dict[Key, _Entry]:
        return {key: entry for key, entry in self._entries.items() if key[0] == name}


def _unknown(subject: str) -> RequestError:
    return RequestError(404, f"{subject}: is unknown, see /v2/repository/index")
