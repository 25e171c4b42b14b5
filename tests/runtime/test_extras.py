import importlib.metadata
from email.message import Message

from bnndeploy.runtime import extras


class FakeDistribution:
    def __init__(self, provided, requires):
        self.metadata = Message()
        for extra in provided:
            self.metadata["Provides-Extra"] = extra
        self.requires = requires


def test_an_extra_lists_what_it_lacks_with_what_it_includes(monkeypatch):
    distribution = FakeDistribution(
        ["cpu", "tools", "train"],
        [
            "numpy>=1.26",
            'onnxruntime>=1.23; extra == "cpu"',
            "onnx>=1.18; extra == 'tools'",
            'onnx-ir>=0.1; extra == "tools"',
            'bnndeploy[tools,cpu]; extra == "train"',
            'tritonclient[http]>=2.50; extra == "train"',
        ],
    )
    installed = {"onnx"}
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: distribution)
    monkeypatch.setattr(extras, "package_version", lambda name: "1" if name in installed else None)

    assert extras.missing_packages() == {
        "cpu": ["onnxruntime"],
        "tools": ["onnx-ir"],
        "train": ["tritonclient", "onnx-ir", "onnxruntime"],
    }


def test_a_bare_checkout_has_no_answer(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)

    assert extras.missing_packages() == {}
