"""What the tests of bundles share."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bnndeploy.bundle.edge import RUNNER
from bnndeploy.runtime import get_library_path

SOURCES = Path(__file__).parents[2] / "custom_ops"


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A folder with the operator library and the runner: the installed one, or a build of it."""
    if get_library_path().with_name(RUNNER).is_file():
        return get_library_path().parent
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("built")
    sources = sorted((SOURCES / "runner").glob("*.cc"))
    command = [compiler, "-std=c++17", f"-I{SOURCES}", *sources, "-ldl", "-o", folder / RUNNER]
    subprocess.run(command, check=True)
    shutil.copy(get_library_path(), folder)
    return folder
