"""What the tests of the service share: a server in a thread, inputs of the real client."""

import contextlib
import threading
import time

import numpy as np


@contextlib.contextmanager
def running(server):
    """Yields the server, with its address as ``server.url``, while it runs."""
    ready = threading.Event()

    def announce(url):
        server.url = url.removeprefix("http://")
        ready.set()

    def run():
        try:
            server.run_until_stopped("127.0.0.1", 0, announce)
        finally:
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(20)
    try:
        yield server
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def tensor(triton, name, array, datatype="FP32", binary=True):
    value = triton.InferInput(name, list(array.shape), datatype)
    value.set_data_from_numpy(array, binary_data=binary)
    return value


def digits(rows, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, 1, 8, 8), np.float32)


def wait_until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
