"""Runs the Python examples of the pages about quantizers, layers, networks and migration."""

import re
import subprocess
import sys

import pytest

from bnndeploy import quantizers

PAGES = ["quantizers", "layers", "migration", "networks"]


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_a_page_run_one_after_the_other(request, tmp_path, page):
    text = (request.config.rootpath / "docs" / f"{page}.md").read_text()
    examples = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert examples
    script = tmp_path / "examples.py"
    # Quantizers of the page register themselves: a process of its own keeps them out of here.
    script.write_text("\n".join(examples))

    ran = subprocess.run(
        [sys.executable, "-W", "error", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    told = re.findall(r"^show\(.*\)\n# (.*)$", text, flags=re.MULTILINE)
    printed = ran.stdout.splitlines()
    assert [line for line in told if line not in printed] == []


def test_every_quantizer_has_an_example_and_its_plot(request):
    text = (request.config.rootpath / "docs" / "quantizers.md").read_text()
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##)", text, flags=re.DOTALL | re.MULTILINE))

    classes = {quantizers.builder(name) for name in quantizers.names()}
    assert {quantizers.builder(name) for name in sections} == classes
    for name, section in sections.items():
        assert f'show("{name}", ' in section
        assert f"![{name}](quantizers/{name}.png)" in section
