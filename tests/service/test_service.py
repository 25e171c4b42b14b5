"""Limits, errors, metrics and the end of a service, over plain HTTP."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest
import toy_models
from onnx import TensorProto
from PIL import Image
from service_helpers import wait_until

from bnndeploy.errors import BnnDeployError, ModelFileError
from bnndeploy.runtime import InferenceSession
from bnndeploy.runtime.classifier import classify_files
from bnndeploy.service.server import Server
from bnndeploy.service.settings import Settings

ONE_IMAGE = json.dumps(
    {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 1, 8, 8], "data": [0.0] * 64}]}
)


def ask(server, method, path, body=None, headers=None):
    """Returns status, headers and decoded body of one request on a connection of its own."""
    connection = http.client.HTTPConnection(server.url, timeout=20)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        text = response.read().decode()
        is_json = response.getheader("content-type") == "application/json"
        return response.status, response.headers, json.loads(text) if is_json else text
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("POST", "/v2/models/digits/infer", "{", {}, 400),
        ("POST", "/v2/models/digits/infer", "", {}, 400),
        ("POST", "/v2/models/digits/infer", "\udcff".encode("utf-8", "surrogateescape"), {}, 400),
        ("POST", "/v2/models/digits/infer", "{}", {"Content-Encoding": "br"}, 415),
        ("POST", "/v2/models/digits/infer", "{}", {"Content-Encoding": "gzip"}, 400),
        ("POST", "/v2/models/none/infer", ONE_IMAGE, {}, 404),
        ("POST", "/v2/models/digits/versions/x/infer", ONE_IMAGE, {}, 404),
        ("GET", "/v2/models/digits/infer", None, {}, 405),
        ("GET", "/v3", None, {}, 404),
        ("POST", "/v2/repository/index", "[]", {}, 400),
        ("POST", "/v2/repository/models/digits/unload", "", {"Origin": "http://evil.test"}, 403),
        ("POST", "/classify/digits?top=0", "", {}, 400),
        ("POST", "/classify/digits", "no image", {}, 400),
        ("POST", "/classify/arithmetic", "", {}, 400),
    ],
)
def test_every_refusal_is_an_error_object(server, method, path, body, headers, status):
    got, _, answer = ask(server, method, path, body, headers)

    assert got == status
    assert list(answer) == ["error"]
    assert answer["error"]
    assert ask(server, "POST", "/v2/models/digits/infer", ONE_IMAGE)[0] == 200


def test_a_large_request_to_an_unknown_model_is_answered_and_the_connection_lives(server):
    connection = http.client.HTTPConnection(server.url, timeout=20)
    with contextlib.closing(connection):
        for path, body, status in (
            ("/v2/models/none/infer", b" " * 20_000_000, 404),
            ("/v2/models/digits/infer", ONE_IMAGE, 200),
        ):
            connection.request("POST", path, body)
            response = connection.getresponse()
            response.read()
            assert response.status == status
            assert response.getheader("connection") is None


def test_the_services_own_page_may_ask(server):
    headers = {"Origin": f"http://{server.url}"}
    assert ask(server, "POST", "/v2/models/digits/infer", ONE_IMAGE, headers)[0] == 200


def test_a_request_that_takes_too_long_is_answered_504(start_server, repository, hold_runs):
    server = start_server(repository, timeout=0.2)

    status, _, answer = ask(server, "POST", "/v2/models/digits/infer", ONE_IMAGE)

    assert status == 504
    assert answer["error"].startswith("model digits: no answer within 0.2 s")


def test_the_clients_own_timeout_counts_too(start_server, repository, hold_runs):
    server = start_server(repository)
    document = json.loads(ONE_IMAGE) | {"parameters": {"timeout": 50_000}}

    status, _, answer = ask(server, "POST", "/v2/models/digits/infer", json.dumps(document))

    assert status == 504
    assert "within 0.05 s" in answer["error"]


def test_a_body_that_never_ends_is_answered_408(start_server, repository):
    server = start_server(repository, timeout=0.2)
    host, port = server.url.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(
            b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"
        )
        assert connection.recv(1000).startswith(b"HTTP/1.1 408")


def test_a_full_queue_is_answered_503_with_the_time_to_wait(start_server, repository, hold_runs):
    server = start_server(repository, queue_limit=2, max_batch=1)
    statuses = []

    def ask_in_thread():
        statuses.append(ask(server, "POST", "/v2/models/digits/infer", ONE_IMAGE)[0])

    threads = [threading.Thread(target=ask_in_thread) for _ in range(3)]
    threads[0].start()
    assert hold_runs.started.wait(10)  # one runs, so that there is place for two to wait
    for thread in threads[1:]:
        thread.start()
    batcher = server.repository.find("digits")._batcher
    wait_until(lambda: len(batcher._queue) == 2)

    status, headers, answer = ask(server, "POST", "/v2/models/digits/infer", ONE_IMAGE)
    assert status == 503
    assert int(headers["Retry-After"]) >= 1
    assert "2 requests wait already" in answer["error"]

    hold_runs.set()
    for thread in threads:
        thread.join()
    assert statuses == [200, 200, 200]


def test_metrics_count_requests_by_status(start_server, repository):
    server = start_server(repository)
    ask(server, "POST", "/v2/models/digits/infer", ONE_IMAGE)
    ask(server, "POST", "/v2/models/digits/infer", "{")
    ask(server, "POST", "/v2/models/invented/infer", ONE_IMAGE)

    status, headers, text = ask(server, "GET", "/metrics")

    assert status == 200
    assert headers["content-type"].startswith("text/plain")
    labels = 'model="digits",status="{}",version="1"'
    assert f"bnndeploy_requests_total{{{labels.format(200)}}} 1.0" in text
    assert f"bnndeploy_requests_total{{{labels.format(400)}}} 1.0" in text
    assert 'bnndeploy_batch_rows_count{model="digits",version="1"} 1.0' in text
    assert 'bnndeploy_refusals_total{status="404"} 1.0' in text
    assert "invented" not in text


def test_stopping_answers_the_requests_under_way(start_server, repository, hold_runs):
    server = start_server(repository)
    answers = []
    thread = threading.Thread(
        target=lambda: answers.append(ask(server, "POST", "/v2/models/digits/infer", ONE_IMAGE))
    )
    thread.start()
    assert hold_runs.started.wait(10)

    server.handle_exit(signal.SIGTERM, None)
    assert not server.repository.ready
    threading.Timer(0.3, hold_runs.set).start()
    thread.join(20)

    assert answers[0][0] == 200
    with pytest.raises(ConnectionRefusedError, match="refused"):
        ask(server, "GET", "/v2/health/live")


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_with_exit_code_0(repository, stop):
    command = [sys.executable, "-m", "bnndeploy", "serve", str(repository), "--portable"]
    process = subprocess.Popen(
        [*command, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    line = process.stdout.readline()
    url = re.search(r"http://(127\.0\.0\.1:\d+)", line).group(1)
    server = type("Remote", (), {"url": url})
    assert ask(server, "POST", "/v2/models/digits/infer", ONE_IMAGE)[0] == 200

    process.send_signal(stop)
    _, errors = process.communicate(timeout=20)

    assert process.returncode == 0
    assert "Traceback" not in errors


def test_a_port_that_is_taken_is_one_line(repository):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = Server(repository, Settings(portable=True))

        with pytest.raises(BnnDeployError, match=rf"127\.0\.0\.1:{port}: cannot be used .*in use"):
            server.run_until_stopped("127.0.0.1", port)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone", "got no such file or folder"),
        ("empty", "got no model, expected <name>/<version>/model.onnx"),
        ("broken.onnx", r"broken\.onnx: ONNX Runtime cannot load it"),
    ],
)
def test_a_source_without_a_model_is_refused_before_anything_is_served(tmp_path, name, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.onnx").write_bytes(toy_models.identity()[:20])

    with pytest.raises(ModelFileError, match=message):
        Server(tmp_path / name, Settings(portable=True)).run_until_stopped("127.0.0.1", 0)


def test_a_model_whose_values_the_protocol_cannot_name_is_refused(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(toy_models.identity(TensorProto.BFLOAT16))

    with pytest.raises(ModelFileError, match=r"tensor\(bfloat16\)"):
        Server(path, Settings(portable=True)).run_until_stopped("127.0.0.1", 0)


def test_the_page_loads_nothing_from_elsewhere(server):
    status, headers, text = ask(server, "GET", "/")

    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert not re.search(r"https?:|//[a-z]|@import|url\(", text)


def test_an_image_is_classified_as_predict_does(server, tmp_path):
    pixels = np.random.default_rng(5).integers(0, 256, (30, 30), dtype=np.uint8)
    png = tmp_path / "a.png"
    Image.fromarray(pixels).save(png)
    session = InferenceSession(toy_models.classifier()[0], portable=True)
    (expected,) = classify_files(session, [png], top=3, invert=True)

    status, _, answer = ask(server, "POST", "/classify/digits?invert=true", png.read_bytes())

    assert status == 200
    assert [guess["class"] for guess in answer["top"]] == [guess.label for guess in expected]
    assert [guess["probability"] for guess in answer["top"]] == pytest.approx(
        [guess.probability for guess in expected]
    )
    assert ask(server, "GET", "/classify")[2] == [
        {"name": "digits", "colour": "grey", "size": [8, 8], "classes": ["zero", "one", "two"]}
    ]
