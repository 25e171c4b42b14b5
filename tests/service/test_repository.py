"""Loading, unloading and following model files while they are served."""

import asyncio
import threading
import time

import numpy as np
import pytest
import toy_models
from service_helpers import digits, tensor, wait_until

from bnndeploy.errors import ModelFileError
from bnndeploy.runtime import InferenceSession
from bnndeploy.service.metrics import Metrics
from bnndeploy.service.model_files import find_models
from bnndeploy.service.served_model import ServedModel
from bnndeploy.service.settings import Settings


def answer(triton, client, x, version=""):
    return client.infer("digits", [tensor(triton, "x", x)], model_version=version).as_numpy(
        "logits"
    )


def test_versions_are_positive_numbers_and_other_files_are_left_alone(tmp_path):
    for version in ("1", "12", "0", "01", "new", "-1", "²"):
        toy_models.write_version(tmp_path, "m", version, b"")
    (tmp_path / "m" / "config.pbtxt").write_text("")
    (tmp_path / "README").write_text("")

    assert sorted(find_models(tmp_path)) == [("m", 1), ("m", 12)]


def test_a_source_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"gone: got no such file or folder, expected an"):
        find_models(tmp_path / "gone")


def test_the_highest_version_answers_unless_one_is_named(triton, connect, start_server, tmp_path):
    weights = {}
    for version in (2, 10):
        model, weights[version] = toy_models.classifier(seed=version)
        toy_models.write_version(tmp_path, "digits", version, model)
    x = digits(1)
    client = connect(start_server(tmp_path))

    assert client.get_model_metadata("digits")["versions"] == ["2", "10"]
    for version, used in (("", 10), ("10", 10), ("2", 2)):
        np.testing.assert_allclose(
            answer(triton, client, x, version), x.reshape(1, 64) @ weights[used], atol=1e-4
        )


def test_a_changed_file_takes_over_while_requests_go_on(triton, connect, start_server, tmp_path):
    models = [toy_models.classifier(seed=seed) for seed in (1, 2)]
    toy_models.write_version(tmp_path, "digits", 1, models[0][0])
    server = start_server(tmp_path)
    old = server.repository.find("digits")
    x = digits(2)
    expected = [x.reshape(2, 64) @ weight for _, weight in models]
    answers, stop = [], threading.Event()

    def ask():
        with triton.InferenceServerClient(server.url) as client:
            while not stop.is_set():
                answers.append(answer(triton, client, x))

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: len(answers) > 5)
    toy_models.write_version(tmp_path, "digits", 1, models[1][0])
    wait_until(lambda: answers and np.allclose(answers[-1], expected[1], atol=1e-4))
    stop.set()
    thread.join()

    wait_until(old._batcher._task.done)  # and is not kept
    is_new = [bool(np.allclose(got, expected[1], atol=1e-4)) for got in answers]
    first_new = is_new.index(True)
    assert not any(is_new[:first_new])
    assert all(is_new[first_new:])
    for got in answers[:first_new]:
        np.testing.assert_allclose(got, expected[0], atol=1e-4)


def test_a_new_model_appears_and_a_removed_one_goes(connect, start_server, repository):
    client = connect(start_server(repository))

    toy_models.write_version(repository, "more", 1, toy_models.identity())
    wait_until(lambda: client.is_model_ready("more"))
    (repository / "more" / "1" / "model.onnx").unlink()
    wait_until(lambda: not client.is_model_ready("more"))
    assert client.is_model_ready("digits")


def test_a_broken_new_file_leaves_the_old_one_serving(triton, connect, start_server, repository):
    client = connect(start_server(repository))
    before = answer(triton, client, digits(1))

    toy_models.write_version(repository, "digits", 1, b"not a model")

    def state():
        return {entry["name"]: entry for entry in client.get_model_repository_index()}["digits"]

    wait_until(lambda: state()["reason"])
    assert state()["state"] == "READY"
    assert "cannot load it" in state()["reason"]
    np.testing.assert_array_equal(answer(triton, client, digits(1)), before)

    with pytest.raises(triton.InferenceServerException, match="cannot load it"):
        client.load_model("digits")
    np.testing.assert_array_equal(answer(triton, client, digits(1)), before)


def test_a_model_that_never_loaded_is_listed_with_its_reason(connect, start_server, repository):
    toy_models.write_version(repository, "broken", 3, b"not a model")
    client = connect(start_server(repository))

    assert client.is_server_ready()
    assert not client.is_model_ready("broken")
    index = {entry["name"]: entry for entry in client.get_model_repository_index()}
    assert index["broken"]["state"] == "UNAVAILABLE"
    assert "cannot load it" in index["broken"]["reason"]


def test_unloading_lasts_until_the_model_is_loaded_by_request(
    triton, connect, start_server, repository
):
    client = connect(start_server(repository))

    client.unload_model("digits")
    model, _ = toy_models.classifier(seed=9)
    toy_models.write_version(repository, "digits", 1, model)  # must not bring it back
    time.sleep(0.2)
    with pytest.raises(triton.InferenceServerException, match="digits: is not loaded") as info:
        answer(triton, client, digits(1))
    assert info.value.status() == "503"

    client.load_model("digits")
    assert answer(triton, client, digits(1)).shape == (1, 3)


def test_unknown_models_cannot_be_loaded_or_unloaded(triton, connect, start_server, repository):
    client = connect(start_server(repository))

    for name in ("none", "..", "../digits"):
        with pytest.raises(triton.InferenceServerException) as info:
            client.load_model(name)
        assert info.value.status() == "404"
    with pytest.raises(triton.InferenceServerException, match="none: is unknown"):
        client.unload_model("none")


def test_loading_takes_no_configuration(triton, connect, start_server, repository):
    client = connect(start_server(repository))

    with pytest.raises(triton.InferenceServerException, match="loading takes no parameters"):
        client.load_model("digits", config="{}")


def test_a_model_stays_open_while_a_request_holds_it():
    async def main():
        session = InferenceSession(toy_models.identity(), portable=True)
        model = ServedModel("same", 1, session, Settings(), Metrics())
        x = np.ones((1, 4), np.float32)
        with model.in_use():  # a request whose body is still being decoded
            closing = asyncio.create_task(model.close())
            await asyncio.sleep(0.05)
            assert not closing.done()
            np.testing.assert_array_equal((await model.run({"x": x}))[0], x)
        await asyncio.wait_for(closing, 10)

    asyncio.run(main())


def test_a_request_under_way_is_answered_by_the_model_that_was_unloaded(
    triton, connect, start_server, repository, hold_runs
):
    server = start_server(repository)
    answers = []

    def ask():
        with triton.InferenceServerClient(server.url) as client:
            answers.append(answer(triton, client, digits(1)))

    thread = threading.Thread(target=ask)
    thread.start()
    assert hold_runs.started.wait(10)
    connect(server).unload_model("digits")
    hold_runs.set()
    thread.join()

    assert answers[0].shape == (1, 3)
