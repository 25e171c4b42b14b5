"""The program in docs/export.md runs as it is printed."""

import re
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_the_documented_program_runs(capsys):
    text = (DOCS / "export.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(program, "export.md", "exec"), {})

    assert capsys.readouterr().out == "0/Conv its weights are real\n"


def test_every_pass_and_form_is_documented():
    from bnndeploy.export import FORMS
    from bnndeploy.export.pipeline import PACK, SIMPLIFY

    text = (DOCS / "export.md").read_text()
    assert all(f"| {rewrite.name} |" in text for rewrite in [*SIMPLIFY, *PACK])
    assert all(f"| `{form}` |" in text for form in FORMS)
