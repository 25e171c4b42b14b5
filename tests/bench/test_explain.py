"""Naming every node of a packed file with its kernel variant."""

import importlib
import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from bnndeploy.bench import explain
from bnndeploy.cli import app
from bnndeploy.export import export_model
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.runtime.library import kernel_report

BINARY = {"input_quantizer": "ste_sign", "weight_quantizer": "ste_sign", "bias": False}


@pytest.fixture(scope="module")
def packed_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("explain") / "model.onnx"
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 3, padding=1),
        torch.nn.BatchNorm2d(64),
        QuantConv2d(64, 96, 3, padding=1, **BINARY),
        torch.nn.BatchNorm2d(96),
        torch.nn.MaxPool2d(8),
        torch.nn.Flatten(),
        QuantLinear(96, 10, **BINARY),
    )
    export_model(network, torch.zeros(2, 3, 8, 8), path)
    return path


def test_every_product_is_named_with_the_variant_its_batch_gets(packed_file, monkeypatch):
    monkeypatch.setenv("BNNDEPLOY_ISA", "scalar")

    rows = explain(packed_file, {"input": np.zeros((2, 3, 8, 8), np.float32)}, runs=3)

    products = {row.op: row for row in rows if row.op.startswith("Xnor")}
    assert {op: row.variant for op, row in products.items()} == {
        "XnorConv": "bits_scalar", "XnorGemm": "bits_scalar"
    }  # fmt: skip
    conv = products["XnorConv"]
    assert conv.gmacs == pytest.approx(2 * 8 * 8 * 96 * 64 * 9 / conv.ms * 1e-6)
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert [row.variant for row in rows if row.op == "Conv"] == [""]


def test_nodes_that_got_a_kernel_of_the_cuda_library_are_named_too(packed_file, monkeypatch):
    def as_if_on_a_device():
        report = kernel_report()
        return {**report, "nodes": [], "cuda": {"kernels": {}, "nodes": report["nodes"]}}

    module = importlib.import_module("bnndeploy.bench.explain")  # a function has its name too
    monkeypatch.setattr(module, "kernel_report", as_if_on_a_device)

    rows = explain(packed_file, {"input": np.zeros((2, 3, 8, 8), np.float32)}, runs=3)

    assert all(row.variant for row in rows if row.op.startswith("Xnor"))


def test_slow_nodes_come_first(packed_file):
    rows = explain(packed_file, {"input": np.zeros((1, 3, 8, 8), np.float32)}, runs=3)

    assert [row.ms for row in rows] == sorted((row.ms for row in rows), reverse=True)


def test_the_command_lists_the_nodes_of_every_batch(packed_file):
    arguments = ["bench", str(packed_file), "--batch", "1", "--seconds", "0.05", "--explain"]

    printed = CliRunner().invoke(app, arguments)
    as_json = CliRunner().invoke(app, [*arguments, "--json"])

    assert printed.exit_code == 0
    assert "batch 1, node by node" in printed.stdout
    assert "XnorConv" in printed.stdout
    nodes = json.loads(as_json.stdout)["nodes"]["1"]
    assert {"XnorConv", "XnorGemm", "Conv"} <= {node["op"] for node in nodes}
