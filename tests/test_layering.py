"""The layer rule of CONTRIBUTING.md: who may import whom."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "bnndeploy"

EVERYONE = {"errors", "registry"}
# Each layer and the layers it may import besides itself and those that everyone may.
MAY_IMPORT = {
    "errors": set(),
    "registry": set(),
    "ops": set(),
    "quantizers": {"ops"},
    "layers": {"ops", "quantizers"},
    "networks": {"ops", "quantizers", "layers"},
    "training": {"ops", "quantizers", "layers", "networks"},
    "runtime": {"ops"},
    "service": {"ops", "runtime"},
    "export": {"ops", "quantizers", "layers"},
    "parity": {"ops", "quantizers", "layers", "networks", "training", "runtime", "export"},
    "bench": {"ops", "quantizers", "layers", "networks", "training", "runtime", "export"},
    "inspection": {"ops", "networks", "training", "runtime", "export"},
    "bundle": {"ops", "quantizers", "layers", "networks", "training", "runtime", "export"},
}
WITHOUT_TORCH_AND_ONNX = ("errors", "registry", "ops", "runtime", "service")
FILES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(path: Path, everywhere: bool = True) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if everywhere else iter(tree.body)
    modules = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
    return modules


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_from_the_layers_below(path):
    layer = layer_of(path)
    if layer in ("__init__", "__main__", "cli"):
        pytest.skip("the top layer may import everything")
    imported = {m.split(".")[1] for m in imported_modules(path) if m.startswith("bnndeploy.")}

    assert imported <= MAY_IMPORT[layer] | {layer} | EVERYONE


@pytest.mark.parametrize("layer", WITHOUT_TORCH_AND_ONNX)
def test_inference_layers_never_import_torch_or_onnx(layer):
    imported = set()
    for path in FILES:
        if layer_of(path) == layer:
            imported |= {module.split(".")[0] for module in imported_modules(path)}

    assert not imported & {"torch", "torchvision", "onnx", "onnx_ir", "onnxscript"}


def test_the_command_line_loads_heavy_packages_only_inside_commands():
    heavy = {"torch", "torchvision", "onnx", "onnxruntime", "onnxscript", "matplotlib", "fastapi"}
    ours = {f"bnndeploy.{layer}" for layer in MAY_IMPORT if layer not in ("ops", *EVERYONE)}

    for path in FILES:
        if layer_of(path) in ("cli", "__init__", "__main__"):
            imported = imported_modules(path, everywhere=False)
            assert not {module.split(".")[0] for module in imported} & heavy, path
            assert not {m for m in imported if ".".join(m.split(".")[:2]) in ours}, path
