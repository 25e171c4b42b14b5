import contextlib
import threading
import warnings

import pytest
import toy_models
from onnx import TensorProto
from service_helpers import running

from bnndeploy.runtime import InferenceSession
from bnndeploy.service import repository as repository_module
from bnndeploy.service.server import Server
from bnndeploy.service.settings import Settings

# The protocol's data types, and how ONNX calls them.
ELEMENTS = {
    "BOOL": TensorProto.BOOL,
    "UINT8": TensorProto.UINT8,
    "INT8": TensorProto.INT8,
    "UINT16": TensorProto.UINT16,
    "INT16": TensorProto.INT16,
    "UINT32": TensorProto.UINT32,
    "INT32": TensorProto.INT32,
    "UINT64": TensorProto.UINT64,
    "INT64": TensorProto.INT64,
    "FP16": TensorProto.FLOAT16,
    "FP32": TensorProto.FLOAT,
    "FP64": TensorProto.DOUBLE,
    "BYTES": TensorProto.STRING,
}


@pytest.fixture(scope="session")
def triton():
    """The real client's module; only warnings of its own import are let through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import tritonclient.http as http
    return http


@pytest.fixture
def start_server():
    """Starts servers in threads, on ports of their own; they are stopped after the test."""
    with contextlib.ExitStack() as stack:

        def start(source, **settings):
            options = {"portable": True, "threads": 1, "poll": 0.05} | settings
            return stack.enter_context(running(Server(source, Settings(**options))))

        yield start


@pytest.fixture
def connect(triton):
    """Opens the real client for a server."""
    with contextlib.ExitStack() as stack:
        yield lambda server, **options: stack.enter_context(
            triton.InferenceServerClient(server.url, **options)
        )


@pytest.fixture
def hold_runs(monkeypatch):
    """Makes every run wait until the returned event is set; ``event.started`` tells of one."""
    released = threading.Event()
    released.started = threading.Event()

    class HeldSession(InferenceSession):
        def run(self, *arguments):
            released.started.set()
            assert released.wait(20)
            return super().run(*arguments)

    monkeypatch.setattr(repository_module, "InferenceSession", HeldSession)
    yield released
    released.set()


@pytest.fixture
def repository(tmp_path):
    """A folder with one version of some toy models."""
    return write_repository(tmp_path)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server of those models, for tests that change nothing about it."""
    folder = write_repository(tmp_path_factory.mktemp("repository"))
    with running(Server(folder, Settings(portable=True, threads=1))) as server:
        yield server


def write_repository(folder):
    models = {
        "digits": toy_models.classifier()[0],
        "arithmetic": toy_models.sum_and_difference(),
        "gather": toy_models.gather(),
        "fixed": toy_models.sum_and_difference(batch=2),
    }
    for name, element in ELEMENTS.items():
        models[f"same-{name}"] = toy_models.identity(element)
    for name, data in models.items():
        toy_models.write_version(folder, name, 1, data)
    return folder
