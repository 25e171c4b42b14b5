"""The examples of the pages about operators and bits run and print what the pages say."""

import doctest
import re
from pathlib import Path

import pytest

pytest.importorskip("onnx")
DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.mark.parametrize("page", ["operators.md", "bit_layout.md"])
def test_every_example_prints_what_the_page_says(page):
    failed, attempted = doctest.testfile(str(DOCS / page), module_relative=False)

    assert failed == 0
    assert attempted > 5


@pytest.mark.parametrize("page", ["adding_an_op.md", "operators.md"])
def test_every_file_that_the_page_names_exists(page):
    named = re.findall(r"`((?:custom_ops|bnndeploy|tests)/[\w./]+)`", (DOCS / page).read_text())

    missing = [name for name in named if not (DOCS.parent / name).exists()]
    assert named
    assert missing == []
