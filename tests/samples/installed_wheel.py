"""The wheel as users have it: built from the tree, and installed where nothing is but the locked requirements.

``install_release`` downloads the requirements, as operators do. ``make_environment`` links or copies them from where they are
installed already, so that nothing is downloaded; pip checks that they satisfy the wheel, since it may fetch nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from scripts.bill_of_materials import read_lock
from scripts.package import build_archives


def build_wheel(folder: Path) -> Path:
    """Build the wheel and the source archive, and return the wheel."""
    folder.mkdir(exist_ok=True)
    build_archives(folder)
    [wheel] = folder.glob("*.whl")
    return wheel


def install_release(folder: Path, wheel: Path, lock: Path) -> Path:
    """Install the requirements and the wheel with the commands of docs/operate/install.md; return the environment's Python."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    for arguments in (["--require-hashes", "-r", str(lock)], ["--no-deps", str(wheel)]):
        pip_install(python, *arguments)
    return python


def pip_install(python: Path, *arguments: str) -> None:
    """Run the pip of an environment, without the packages of these tests."""
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    without = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, env=without, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def make_environment(folder: Path, *, copied: bool = False) -> Path:
    """Make a virtual environment with the locked requirements and no other package; return its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next((folder / "lib").glob("python3*")) / "site-packages"
    for pin in read_lock():
        if pin.is_for_here:
            _bring(pin.name, packages, copied=copied)
    return folder / "bin" / "python"


def _bring(name: str, packages: Path, *, copied: bool) -> None:
    """Link or copy what an installed package has beside its programs."""
    found = distribution(name)
    for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
        source, target = Path(str(found.locate_file(top))), packages / top
        if target.exists() or not source.exists():
            continue
        if not copied:
            target.symlink_to(source)
        elif source.is_dir():
            shutil.copytree(source, target, copy_function=_link_or_copy)
        else:
            _link_or_copy(str(source), str(target))


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def install_wheel(python: Path, wheel: Path) -> None:
    """Install the wheel with the pip of these tests; pip fails if a requirement is missing."""
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", str(wheel)]
    environment = {name: value for name, value in os.environ.items() if name != "PIP_FIND_LINKS"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
