"""From other ONNX files to packed ones."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import version_converter
from onnx_ir.passes import common

from bnndeploy.errors import ExportError, MissingExtraError
from bnndeploy.export.compiler import check_form, compile_graph
from bnndeploy.export.context import Context, run_passes
from bnndeploy.export.functions import attach_functions
from bnndeploy.export.graph import number_nodes
from bnndeploy.export.metadata import get_metadata
from bnndeploy.export.passes.read_quantizers import ReadQuantizers
from bnndeploy.export.passes.recognise_signs import RecogniseSigns
from bnndeploy.export.passes.split_weight_scales import SplitWeightScales
from bnndeploy.export.pipeline import SIMPLIFY
from bnndeploy.export.reading import load_model
from bnndeploy.export.report import ExportReport
from bnndeploy.export.sample import MOST_VALUES, SEED, encode, generate_inputs
from bnndeploy.export.writing import refuse_existing
from bnndeploy.ops.names import DOMAIN, IR_VERSION, OPSET, VERSION

_KEPT = ("classes", "input", "recipe", "metrics", "name", "sample")


def import_model(
    source: str | Path | onnx.ModelProto,
    path: str | Path | None = None,
    *,
    form: str = "packed",
    force: bool = False,
    metadata: Mapping[str, Any] | None = None,
    calibration: Sequence[np.ndarray[Any, Any]] = (),
    int2: bool = False,
) -> ExportReport:
    """Compiles an ONNX file that another tool wrote, or our own float form.

    It reads QONNX (BipolarQuant, Quant and IntQuant as Brevitas writes them), plain float
    models whose signs are comparisons and whose weights are +-s or {-s, 0, +s} a channel, and
    the float form. What is neither binary nor ternary stays in standard operators. The sample
    holds the outputs of the source, unless the source has one.

    Args:
        source: A file or a model.
        path: The file to write; None only builds the model.
        form: As in :func:`bnndeploy.export.export_model`.
        force: Overwrite an existing file.
        metadata: More entries, written as ``bnndeploy.<key>``.
        calibration: For int8: one array for each input.
        int2: As in :func:`bnndeploy.export.export_model`.

    Raises:
        ModelFileError: If the source cannot be read.
        ExportError: If it holds a quantizer that cannot be expressed, or the file exists.
    """
    start = time.perf_counter()
    check_form(form, int2=int2)
    target = None if path is None else Path(path)
    if target is not None:
        refuse_existing(target, force)
    loaded = load_model(source)
    entries = {k: v for k, v in get_metadata(loaded).items() if k in _KEPT}
    readable = _read(loaded)
    if "sample" not in entries:
        sample = _sample(readable)
        entries.update({} if sample is None else {"sample": sample})
    traced = ir.from_proto(readable)
    traced.functions.clear()
    common.RemoveInitializersFromInputsPass()(traced)  # the version converter lists them
    report = compile_graph(
        traced, form, path=target, force=force, entries={**entries, **(metadata or {})},
        calibration=calibration, int2=int2, read=[SplitWeightScales()],
    )  # fmt: skip
    report.seconds = time.perf_counter() - start
    return report


def _read(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns the model in Sign, Ternary and standard operators of our opset, with all shapes."""
    loaded = ir.from_proto(model)
    loaded.functions.clear()
    packed = {node.op_type for node in loaded.graph if node.domain == DOMAIN}
    if packed - {"Sign", "Ternary"}:
        raise ExportError("import: the model is packed already, expected a float or QONNX model")
    number_nodes(loaded.graph)  # other tools leave names empty or repeat them
    run_passes(loaded, [*SIMPLIFY, ReadQuantizers(), RecogniseSigns()], Context())
    number_nodes(loaded.graph)
    loaded.ir_version = IR_VERSION
    loaded.graph.opset_imports.setdefault(DOMAIN, VERSION)
    for domain in set(loaded.graph.opset_imports) - {"", DOMAIN}:
        if not any(node.domain == domain for node in loaded.graph):
            del loaded.graph.opset_imports[domain]
    proto: onnx.ModelProto = ir.to_proto(loaded)
    opset = next(entry.version for entry in proto.opset_import if not entry.domain)
    try:
        if opset != OPSET:
            proto = version_converter.convert_version(proto, OPSET)
            proto.ir_version = IR_VERSION
        attach_functions(proto)
        return onnx.shape_inference.infer_shapes(proto, data_prop=True)
    except (RuntimeError, onnx.shape_inference.InferenceError) as error:
        raise ExportError(
            f"import: got opset {opset}, which onnx cannot convert to {OPSET}: {error}"
        ) from error


def _sample(model: onnx.ModelProto) -> dict[str, Any] | None:
    """Runs the source on generated inputs; None if it cannot or they are large."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError("onnxruntime", "cpu") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    described = []
    for value in session.get_inputs():
        shape = [4 if not isinstance(value.shape[0], int) else value.shape[0], *value.shape[1:]]
        if not all(isinstance(size, int) for size in shape):
            return None
        dtype = {"tensor(float)": "float32", "tensor(int64)": "int64"}.get(value.type)
        if dtype is None:
            return None
        described.append({"dtype": dtype, "shape": shape})
    made = generate_inputs(SEED, described)
    feeds = {v.name: x for v, x in zip(session.get_inputs(), made, strict=True)}
    outputs = session.run(None, feeds)
    if sum(y.size for y in outputs) > MOST_VALUES:
        return None
    return {"seed": SEED, "inputs": described, "outputs": [encode(y) for y in outputs]}
