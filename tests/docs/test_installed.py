"""The wheel alone is enough: installed by pip into an empty environment, far from the repository, it runs the whole tutorial."""

from __future__ import annotations

import os
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from postroad.console.static_files import static_url
from postroad.testing.ports import free_port
from scripts.bill_of_materials import read_lock
from tests.docs.printed import Printed
from tests.docs.snippets import Step, steps_of, steps_until
from tests.docs.test_pages import carry_out, reader
from tests.samples.installed_wheel import build_wheel, install_release, pip_install
from tests.samples.shell import Shell
from tests.source_tree import ROOT

pytestmark = pytest.mark.docs

LOCK = ROOT / "requirements" / "run.txt"
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
    """The Python of an environment with the released wheel and its requirements, which pip has downloaded."""
    folder = tmp_path_factory.mktemp("installed")
    return install_release(folder / "venv", build_wheel(folder / "dist"), LOCK)


def outside(python: Path, folder: Path, port: int) -> dict[str, str]:
    """The environment of a reader who has installed the wheel and has no clone."""
    variables = reader(folder, port)
    path = variables["PATH"].partition(os.pathsep)[2]
    return {name: value for name, value in variables.items() if name != "PYTHONPATH"} | {
        "PATH": f"{python.parent}{os.pathsep}{path}"
    }


def test_nothing_but_the_lock_and_the_wheel_is_installed(python: Path, tmp_path: Path) -> None:
    asked = (
        "import importlib.metadata as m, postroad; print(postroad.__file__);"
        "print(*[f'{one.name}=={one.version}' for one in m.distributions()])"
    )
    shown = subprocess.run([python, "-I", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    place, found = shown.splitlines()
    assert place.startswith(str(python.parents[1]))
    installed = {name_of(one) for one in found.split()} - {"pip", "setuptools"}  # which come with Python
    assert installed == {canonical(pin.name) for pin in read_lock() if pin.is_for_here} | {"postroad"}


def canonical(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def name_of(pin: str) -> str:
    return canonical(pin.partition("==")[0])


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
def test_the_tutorial_works_from_its_first_step_to_its_last(python: Path, tmp_path: Path) -> None:
    port, second = free_port(), free_port()
    printed = Printed({"127.0.0.1:8470": f"127.0.0.1:{port}", "127.0.0.1:8471": f"127.0.0.1:{second}"})
    pip_install(python, "--target", str(tmp_path / "soap"), f"zeep=={version('zeep')}")  # as the page tells its readers
    variables = outside(python, tmp_path, port) | {"PYTHONPATH": str(tmp_path / "soap")}
    every = steps_of(TUTORIAL)
    before = steps_until(TUTORIAL, "with-soap")
    assert len(before) > 25
    with Shell(tmp_path, variables) as shell:
        follow_steps(before, tmp_path, shell, printed)
        for path in CONSOLE:
            code, output = shell.run(f"curl -sf -o answer http://127.0.0.1:{port}{path}; echo $?; wc -c < answer")
            assert (code, output.split()[0]) == (0, "0"), f"{path}: {output}"
            assert int(output.split()[1]) > 500, path
        follow_steps(every[len(before) :], tmp_path, shell, printed)


def follow_steps(steps: list[Step], folder: Path, shell: Shell, printed: Printed) -> None:
    for step in steps:
        fault = carry_out(step, folder, shell, printed)
        assert not fault, f"{step.place}: {fault}"
