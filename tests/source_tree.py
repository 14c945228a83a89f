"""The source as tests see it: the package's modules with their parsed trees, and the files that git knows."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "postroad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One source file, parsed."""

    path: Path
    tree: ast.Module

    @property
    def name(self) -> str:
        return self.path.relative_to(PACKAGE).as_posix()

    def imported_names(self) -> Iterator[str]:
        """Every absolute dotted name that is imported anywhere in the file, also inside functions."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)

    def imports(self, *packages: str) -> bool:
        return any(
            name == package or name.startswith(f"{package}.") for name in self.imported_names() for package in packages
        )


@cache
def modules(folder: str = "") -> tuple[Module, ...]:
    """The package's modules, or those below one of its folders."""
    return tuple(
        Module(path=path, tree=ast.parse(path.read_text(), filename=str(path)))
        for path in sorted((PACKAGE / folder).rglob("*.py"))
    )


@cache
def repository_files() -> tuple[Path, ...]:
    """Every file that is or would be committed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    paths = (ROOT / name.decode() for name in listed.stdout.split(b"\0") if name)
    return tuple(path for path in paths if path.is_file())
