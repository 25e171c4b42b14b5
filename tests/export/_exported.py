"""Runs exported graphs by the oracle, and compares them with the module they came from."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from torch import nn

import bnndeploy
from bnndeploy.export.metadata import get_metadata
from bnndeploy.export.report import ExportReport
from bnndeploy.layers import QuantConv2d, QuantLinear
from bnndeploy.ops.names import DOMAIN, SIGNATURES
from bnndeploy.ops.oracle import run_op
from bnndeploy.ops.packing import unpack_bits
from bnndeploy.quantizers import Quantizer

torch.set_num_threads(1)


def _oracle_class(op_type: str) -> type[OpRun]:
    def run(self: OpRun, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        return run_op(op_type, inputs, attributes)

    return type(op_type, (OpRun,), {"op_domain": DOMAIN, "_run": run})


ORACLE = [_oracle_class(op_type) for op_type in SIGNATURES]


def run_oracle(model: onnx.ModelProto, *inputs: np.ndarray) -> dict[str, np.ndarray]:
    """Returns every value of the graph, our operators run by the oracle."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.functions[:]
    known = {value.name for value in bare.graph.output}
    for node in bare.graph.node:
        for name in node.output:
            if name and name not in known:
                bare.graph.output.append(onnx.ValueInfoProto(name=name))
    evaluator = ReferenceEvaluator(bare, new_ops=ORACLE)
    feeds = {v.name: x for v, x in zip(bare.graph.input, inputs, strict=True)}
    names = [value.name for value in bare.graph.output]
    return dict(zip(names, evaluator.run(names, feeds), strict=True))


def export(module: nn.Module, *inputs: torch.Tensor, **options: Any) -> ExportReport:
    return bnndeploy.export_model(module, inputs, **options)


def node_types(report: ExportReport) -> list[str]:
    return [node.op_type for node in report.model.graph.node]


def declined(report: ExportReport) -> dict[str, str]:
    return {event.subject: event.text for event in report.declined}


def fix_batch(model: onnx.ModelProto, batch: int) -> onnx.ModelProto:
    """Returns the model for one batch size, as qonnx wants it."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for value in [*fixed.graph.input, *fixed.graph.output, *fixed.graph.value_info]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = batch
    return fixed


def quantizer_outputs(module: nn.Module, *inputs: torch.Tensor) -> dict[str, np.ndarray]:
    """Returns what each activation quantizer of the module puts out."""
    seen: dict[str, np.ndarray] = {}
    handles = [
        part.register_forward_hook(lambda m, i, o, path=path: seen.update({path: o.numpy()}))
        for path, part in module.named_modules()
        if isinstance(part, Quantizer)
    ]
    with torch.no_grad():
        module(*inputs)
    for handle in handles:
        handle.remove()
    return seen


def flipped_bits(report: ExportReport, module: nn.Module, *inputs: torch.Tensor) -> int:
    """Counts the binary activations in which the packed graph and the module differ."""
    expected = quantizer_outputs(module, *inputs)
    values = run_oracle(report.model, *(x.numpy() for x in inputs))
    probes = get_metadata(report.model)["probes"]
    assert probes, "the model names no quantizer output"
    flips = 0
    for name, probe in probes.items():
        got = values[name]
        if probe["kind"] == "bits":
            got = np.moveaxis(unpack_bits(got, probe["channels"]), -1, 1)
        flips += int(np.sum(got.reshape(-1) != expected[probe["module"]].reshape(-1)))
    return flips


def randomise(module: nn.Module, seed: int) -> nn.Module:
    """Gives batch-norms statistics and factors of both signs, in eval mode."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
                shape = part.running_mean.shape
                if part.affine:
                    part.weight.copy_(torch.randn(shape, generator=generator))
                    part.bias.copy_(torch.randn(shape, generator=generator))
                part.running_mean.copy_(8 * (torch.rand(shape, generator=generator) - 0.5))
                part.running_var.copy_(20 * torch.rand(shape, generator=generator))
            elif isinstance(part, nn.PReLU):
                part.weight.copy_(torch.rand(part.weight.shape, generator=generator))
    return module.eval()


def oracle_difference(
    report: ExportReport, module: nn.Module, *inputs: torch.Tensor
) -> Sequence[float]:
    """Returns the greatest difference of each output between the oracle and the module."""
    values = run_oracle(report.model, *(x.numpy() for x in inputs))
    with torch.no_grad():
        expected = module(*inputs)
    outputs = expected if isinstance(expected, tuple) else (expected,)
    return [
        float(np.max(np.abs(values[v.name] - e.numpy()), initial=0))
        for v, e in zip(report.model.graph.output, outputs, strict=True)
    ]


BINARY = {"input_quantizer": "ste_sign", "weight_quantizer": "ste_sign", "bias": False}


def small_network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    network = nn.Sequential(
        nn.Conv2d(2, 9, 3, padding=1),
        nn.BatchNorm2d(9),
        QuantConv2d(9, 33, 3, padding=1, pad_value=-1, **BINARY),
        nn.MaxPool2d(2),
        nn.BatchNorm2d(33),
        nn.Hardtanh(),
        nn.Flatten(),
        QuantLinear(33 * 9, 7, **BINARY),
        nn.BatchNorm1d(7),
        QuantLinear(7, 5, input_quantizer="ste_sign", weight_quantizer="ste_sign"),
    )
    return randomise(network, seed)


@functools.cache
def small_export(form: str) -> ExportReport:
    return export(small_network(), torch.zeros(1, 2, 6, 6), form=form)
