"""Turns a module into an onnx_ir model in our operators and the standard ones."""

from __future__ import annotations

import ast
import copy
import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import onnx_ir as ir
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from bnndeploy.errors import ExportError
from bnndeploy.export.graph import EPSILON_KEY, QUANTIZER_KEY, is_op, number_nodes
from bnndeploy.layers import QuantLayer, freeze_codes
from bnndeploy.ops.names import IR_VERSION, OPSET
from bnndeploy.quantizers import Quantizer

_SCOPES = "pkg.torch.onnx.name_scopes"


def copy_for_export(module: nn.Module) -> nn.Module:
    """Returns a copy on the CPU in float32 eval mode, parametrized weights computed.

    Raises:
        ExportError: If the module, or a part that is named, cannot be copied or traced.
    """
    for path, part in module.named_modules():
        if isinstance(part, torch.jit.ScriptModule):
            raise ExportError(
                f"export: module {path!r} is compiled by TorchScript, expected a plain nn.Module; "
                "export the module that it was made from"
            )
    try:
        copied = copy.deepcopy(module)
    except Exception as error:  # whatever a part's __deepcopy__ raises
        raise ExportError(
            f"export: the module cannot be copied: {_first_line(error)}; old-style weight_norm "
            "and spectral_norm have replacements in torch.nn.utils.parametrizations"
        ) from error
    for part in copied.modules():
        if parametrize.is_parametrized(part):
            _compute_parametrized(part)
    return copied.cpu().float().eval()


def _compute_parametrized(part: nn.Module) -> None:
    """Makes parametrized tensors plain; torch's own way would change the original's class."""
    names = list(part.parametrizations)  # type: ignore[arg-type]
    values = [getattr(part, name).detach() for name in names]
    part.__class__ = parametrize.type_before_parametrizations(part)
    del part.parametrizations
    for name, value in zip(names, values, strict=True):
        part.register_parameter(name, nn.Parameter(value, requires_grad=False))


def freeze(module: nn.Module) -> nn.Module:
    """Makes the weight codes of a copy constants, in place, and drops the latent weights.

    Their place is held by one NaN seen in their shape, for :func:`emit` to find readers of it.
    """
    freeze_codes(module)
    for layer in _quantised_layers(module).values():
        place = torch.full((1,), torch.nan).expand(layer.weight.shape)
        layer.weight = nn.Parameter(place, requires_grad=False)
    return module


def _quantised_layers(module: nn.Module) -> dict[str, QuantLayer]:
    return {
        path: layer
        for path, layer in module.named_modules()
        if isinstance(layer, QuantLayer) and layer.weight_quantizer is not None
    }


def emit(
    module: nn.Module,
    inputs: Sequence[Tensor],
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_shapes: Any = None,
) -> ir.Model:
    """Traces a frozen module (see :func:`freeze`) into an onnx_ir model.

    Axis 0 of every input is dynamic unless ``dynamic_shapes`` (as in torch.export) says else.

    Raises:
        ExportError: If torch cannot trace the module; the message names the submodule.
    """
    if dynamic_shapes is None:
        inputs = [_at_least_two(x) for x in inputs]
        dynamic_shapes = _dynamic_batch(module, inputs)
    with _running_module(module) as running, torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = torch.onnx.export(
                module,
                tuple(inputs),
                dynamo=True,
                opset_version=OPSET,
                dynamic_shapes=dynamic_shapes,
                input_names=input_names,
                output_names=output_names,
                optimize=False,
                verbose=False,
            )
        except Exception as error:  # torch raises many kinds; each means "cannot trace"
            raise ExportError(_explain(error, running)) from error
    assert program is not None
    model: ir.Model = program.model
    model.ir_version = IR_VERSION
    _refuse_readers_of_latents(model, module)
    _name_nodes(model)
    _label_quantizers(model, module)
    _keep_epsilons(model, module)
    if output_names is None:
        _name_outputs(model)
    return model


def _at_least_two(x: Tensor) -> Tensor:
    """Repeats a batch of one: torch.export takes a size of 1 for a constant."""
    return x.repeat(2, *(1,) * (x.ndim - 1)) if x.ndim and x.shape[0] == 1 else x


def _dynamic_batch(module: nn.Module, inputs: Sequence[Tensor]) -> tuple[Any, ...]:
    """Makes axis 0 of every input dynamic; torch.export wants the inputs of *args in a tuple."""
    axes = [{0: torch.export.Dim.DYNAMIC} if x.ndim else None for x in inputs]
    kinds = [p.kind for p in inspect.signature(module.forward).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        return tuple(axes)
    named = kinds.index(inspect.Parameter.VAR_POSITIONAL)
    return (*axes[:named], tuple(axes[named:]))


@contextmanager
def _running_module(module: nn.Module) -> Iterator[list[str]]:
    """Yields a list of the module paths entered and not left: after an error, where it was."""
    stack: list[str] = []
    handles = []

    def enter(path: str) -> Any:
        return lambda *_: stack.append(path)

    def leave(*_: Any) -> None:
        stack.pop()

    for path, part in module.named_modules():
        handles.append(part.register_forward_pre_hook(enter(path)))
        handles.append(part.register_forward_hook(leave))
    try:
        yield stack
    finally:
        for handle in handles:
            handle.remove()


def _explain(error: Exception, running: Sequence[str]) -> str:
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    place = f"module {running[-1]!r}" if running and running[-1] else "the module"
    return f"export: {place} cannot be traced by torch.export: {_first_line(cause)}"


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _refuse_readers_of_latents(model: ir.Model, module: nn.Module) -> None:
    """Refuses a graph that reads a latent weight: its file would hold codes only."""
    for path in _quantised_layers(module):
        name = f"{path}.weight" if path else "weight"
        latent = model.graph.initializers.get(name)
        if latent is not None and latent.uses():
            raise ExportError(
                f"export: module {path!r}: its real-valued weight is read besides its codes, "
                "which cannot be exported; give the other reader a Parameter of its own"
            )


def scopes(node: ir.Node) -> list[str]:
    """Returns the module paths around a node, outermost ("") first; empty if unknown."""
    text = node.metadata_props.get(_SCOPES)
    if text is None:
        return []
    # The last entry is the name of the traced operation, not of a module.
    return [str(scope) for scope in ast.literal_eval(text)][:-1]


def _name_nodes(model: ir.Model) -> None:
    """Names every node ``<module path>/<op type>``, numbered where that repeats."""
    for node in model.graph:
        path = (scopes(node) or [""])[-1]
        node.name = f"{path}/{node.op_type}" if path else node.op_type
    number_nodes(model.graph)


def _label_quantizers(model: ir.Model, module: nn.Module) -> None:
    """Marks the one value that leaves each activation quantizer with the quantizer's path."""
    modules = dict(module.named_modules())
    inside: dict[str, list[ir.Node]] = {}
    for node in model.graph:
        for path in scopes(node):
            if isinstance(modules.get(path), Quantizer):
                inside.setdefault(path, []).append(node)
                break
    for path, nodes in inside.items():
        members = {id(node) for node in nodes}
        leaving = [
            output
            for node in nodes
            for output in node.outputs
            if output.is_graph_output() or any(id(u.node) not in members for u in output.uses())
        ]
        if len(leaving) == 1:
            leaving[0].metadata_props[QUANTIZER_KEY] = path


def _keep_epsilons(model: ir.Model, module: nn.Module) -> None:
    modules: Mapping[str, nn.Module] = dict(module.named_modules())
    for node in model.graph:
        if is_op(node, "BatchNormalization"):
            eps = getattr(modules.get((scopes(node) or [""])[-1]), "eps", None)
            if eps is not None:
                node.metadata_props[EPSILON_KEY] = repr(float(eps))


def _name_outputs(model: ir.Model) -> None:
    outputs = model.graph.outputs
    for index, output in enumerate(outputs):
        if not output.is_graph_input():
            output.name = "output" if len(outputs) == 1 else f"output_{index}"
