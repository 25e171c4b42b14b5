"""Runs the Python examples of the pages about quantizers, layers, networks and migration."""

import re
import subprocess
import sys

import pytest

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
