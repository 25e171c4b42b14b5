"""The export compiler: a trained module in, a bit-packed and checked ONNX file out."""

from bnndeploy.export.compiler import FORMS
from bnndeploy.export.expand import expand
from bnndeploy.export.exporter import export_model, export_run
from bnndeploy.export.importer import import_model
from bnndeploy.export.int8 import quantize_int8
from bnndeploy.export.report import ExportReport

__all__ = [
    "FORMS",
    "ExportReport",
    "expand",
    "export_model",
    "export_run",
    "import_model",
    "quantize_int8",
]
