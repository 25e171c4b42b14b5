"""Whole models on the CUDA provider: placement, equality with the CPU, binding, graphs."""

import numpy as np
import onnxruntime
import pytest

from bnndeploy.parity import verify
from bnndeploy.runtime import InferenceSession
from bnndeploy.runtime.providers import CPU, CUDA

pytestmark = pytest.mark.gpu

GRAPH = (CUDA, {"enable_cuda_graph": "1"})
# The first layer sums real values in another order than the CPU; a sign that sits on its threshold
# may flip there, so single logits may differ while nearly all agree.
LEAST_AGREEMENT = 0.99


def agreement(left, right):
    return np.mean(left.argmax(1) == right.argmax(1))


def test_no_providers_means_cuda(packed):
    assert InferenceSession(packed.path).get_providers()[0] == CUDA


def test_every_node_of_ours_sits_on_cuda_with_no_copy_between(packed):
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    session = InferenceSession(packed.path, [CUDA], options=options)

    placed = [
        (subgraph.ep_name, node.op_type, node.domain)
        for subgraph in session.get_provider_graph_assignment_info()
        for node in subgraph.get_nodes()
    ]

    ours = [place for place in placed if place[2] == "ai.bnndeploy"]
    assert ours
    assert {provider for provider, _, _ in ours} == {CUDA}
    assert not [place for place in placed if place[1].startswith("Memcpy")]
    assert not [place for place in placed if place[0] == CPU]


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_cuda_and_cpu_agree(packed, batch):
    session = InferenceSession(packed.path, [CUDA])
    feed = packed.feed(batch)

    found = session.run([packed.output], feed)[0]

    assert agreement(found, packed.on_cpu(feed)) >= (LEAST_AGREEMENT if batch >= 64 else 1.0)


def test_runs_repeat_to_the_bit(packed):
    session = InferenceSession(packed.path, [CUDA])
    feed = packed.feed(16)

    first, second = (session.run([packed.output], feed)[0] for _ in range(2))

    np.testing.assert_array_equal(first, second)


def test_bound_device_memory_gives_the_same(packed):
    session = InferenceSession(packed.path, [CUDA])
    feed = packed.feed(8)
    binding = session.io_binding()
    value = onnxruntime.OrtValue.ortvalue_from_numpy(feed[packed.input.name], "cuda", 0)
    binding.bind_ortvalue_input(packed.input.name, value)
    binding.bind_output(packed.output, "cuda", 0)

    session.run_with_iobinding(binding)

    found = binding.get_outputs()[0].numpy()
    np.testing.assert_array_equal(found, session.run([packed.output], feed)[0])


def test_a_captured_cuda_graph_replays_on_new_inputs(packed):
    plain = InferenceSession(packed.path, [CUDA])
    session = InferenceSession(packed.path, [GRAPH])
    feeds = [packed.feed(4) for _ in range(3)]
    expected = [plain.run([packed.output], feed)[0] for feed in feeds]
    value = onnxruntime.OrtValue.ortvalue_from_numpy(feeds[0][packed.input.name], "cuda", 0)
    result = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros_like(expected[0]), "cuda", 0)
    binding = session.io_binding()
    binding.bind_ortvalue_input(packed.input.name, value)
    binding.bind_ortvalue_output(packed.output, result)

    for feed, want in zip(feeds, expected, strict=True):
        value.update_inplace(feed[packed.input.name])
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(result.numpy(), want)


def test_parity_holds_with_the_cuda_kernels(packed):
    report = verify(packed.path)

    assert "cuda" in report.steps[1].title
    assert report.passed
