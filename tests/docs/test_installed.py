"""The wheel alone is enough: installed with the locked requirements, far from the repository, it runs what the pages show."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from postroad.console.static_files import static_url
from postroad.testing.ports import free_port
from tests.docs.printed import Printed
from tests.docs.shell import Shell
from tests.docs.snippets import steps_until
from tests.docs.test_pages import carry_out, reader
from tests.samples.installed_wheel import build_wheel, install_wheel, make_environment
from tests.source_tree import ROOT

pytestmark = pytest.mark.docs

TUTORIAL = ROOT / "docs" / "tutorial" / "README.md"
CONSOLE = (
    "/login",
    static_url("console.css"),
    static_url("vendor/htmx.min.js"),
    "/soap?wsdl",
    "/openapi.json",
)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel and the locked requirements."""
    folder = tmp_path_factory.mktemp("installed")
    found = make_environment(folder / "venv")
    install_wheel(found, build_wheel(folder / "dist"))
    return found


def outside(python: Path, folder: Path, port: int) -> dict[str, str]:
    """The environment of a reader who has installed the wheel and has no clone."""
    variables = reader(folder, port)
    path = variables["PATH"].partition(os.pathsep)[2]
    return {name: value for name, value in variables.items() if name != "PYTHONPATH"} | {
        "PATH": f"{python.parent}{os.pathsep}{path}"
    }


def test_nothing_but_the_lock_and_the_wheel_is_installed(python: Path, tmp_path: Path) -> None:
    asked = "import postroad, importlib.util as u; print(postroad.__file__); print(u.find_spec('pytest'), u.find_spec('pip'))"
    shown = subprocess.run([python, "-I", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[0].startswith(str(python.parents[1]))
    assert shown.splitlines()[1] == "None None"


def test_every_module_can_be_imported(python: Path, tmp_path: Path) -> None:
    """Except those that need the extra ``warehouse``, and the tools for tests, which need PostgreSQL or Spark."""
    program = (
        "import importlib, pkgutil, postroad\n"
        "skipped = ('postroad.warehouse', 'postroad.testing', 'postroad.__main__')\n"
        "names = [m.name for m in pkgutil.walk_packages(postroad.__path__, 'postroad.', onerror=str)\n"
        "         if not m.name.startswith(skipped)]\n"
        "for name in names: importlib.import_module(name)\n"
        "print(len(names))\n"
    )
    done = subprocess.run([python, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 500


@pytest.mark.req("O7")
def test_the_first_steps_of_the_tutorial_work(python: Path, tmp_path: Path) -> None:
    port, second = free_port(), free_port()
    printed = Printed({"127.0.0.1:8470": f"127.0.0.1:{port}", "127.0.0.1:8471": f"127.0.0.1:{second}"})
    with Shell(tmp_path, outside(python, tmp_path, port)) as shell:
        steps = steps_until(TUTORIAL, "from-python")
        assert len(steps) > 15
        for step in steps:
            fault = carry_out(step, tmp_path, shell, printed)
            assert not fault, f"{step.place}: {fault}"
        for path in CONSOLE:
            code, output = shell.run(f"curl -sf -o answer http://127.0.0.1:{port}{path}; echo $?; wc -c < answer")
            assert (code, output.split()[0]) == (0, "0"), f"{path}: {output}"
            assert int(output.split()[1]) > 500, path
