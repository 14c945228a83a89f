"""Tests wait for what they mean and not for a time that is usually enough: a sleep in real time has a comment that says why."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.source_tree import ROOT

TESTS = ROOT / "tests"
REASON = re.compile(r"# sleeps: \S.{9}")
VIRTUAL_TIME = re.compile(r"\b(?:in_virtual_time|virtual_loop)\(")  # in a test whose sleeps take no time
EXEMPT = (TESTS / "waiting.py", TESTS / "simulation", TESTS / "architecture")  # what polls, virtual time, and examples
LIMITS = {"wait_for", "timeout", "timeout_at"}  # of asyncio
TOO_SHORT_S = 10  # a busy machine may need that long for anything


def units(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield functions, methods and other statements of a module, each with everything inside it."""
    for node in tree.body:
        yield from node.body if isinstance(node, ast.ClassDef) else [node]


def is_wait_for_time(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):  # a program that a test starts
        return re.search(r"\btime\.sleep\(|\bpg_sleep\(", node.value) is not None
    if not isinstance(node, ast.Call):
        return False
    match node.func, node.args:
        case ((ast.Attribute(attr="sleep") | ast.Name(id="sleep")), [ast.Constant(value=0)]):
            return False  # lets other tasks run
        case ((ast.Attribute(attr="sleep") | ast.Name(id="sleep")), _):
            return True
        case ast.Attribute(attr="wait", value=ast.Call()), [_, *_]:  # Event().wait(0.1): nobody else has the event
            return True
        case ast.Attribute(attr=name, value=ast.Name(id="asyncio")), [*_, ast.Constant(value=int() | float() as limit)]:
            return name in LIMITS and limit < TOO_SHORT_S
    return False


def waits_without_reason(source: str) -> list[int]:
    """Return the numbers of the lines that wait for a time and do not say why."""
    lines = source.splitlines()
    return [
        node.lineno
        for unit in units(ast.parse(source))
        if not VIRTUAL_TIME.search("\n".join(lines[unit.lineno - 1 : unit.end_lineno]))
        for node in ast.walk(unit)
        if is_wait_for_time(node)
        and isinstance(node, ast.expr)
        and not any(REASON.search(line) for line in lines[node.lineno - 1 : node.end_lineno])
    ]


def test_a_wait_for_a_time_says_why() -> None:
    files = [path for path in TESTS.rglob("*.py") if not any(path.is_relative_to(exempt) for exempt in EXEMPT)]
    found = {path.relative_to(ROOT).as_posix(): waits_without_reason(path.read_text()) for path in files}
    advice = "wait for a condition (tests/waiting.py), or say in that line what is slow on purpose: '# sleeps: why'"
    assert {path: lines for path, lines in found.items() if lines} == {}, advice


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("await asyncio.sleep(0.1)", True),
        ("await asyncio.sleep(0.1)  # sleeps: why", True),
        ("await asyncio.sleep(0.1)  # sleeps: a slow receiver", False),
        ("await asyncio.sleep(0)", False),
        ("time.sleep(PAUSE_S)", True),
        ("threading.Event().wait(0.5)", True),
        ("seen.wait(60)", False),
        ("run('import time; time.sleep(60)')", True),
        ("await connection.execute('SELECT pg_sleep(1)')", True),
        ("await asyncio.wait_for(task, 0.5)", True),
        ("await asyncio.wait_for(task, 30)", False),
        ("async with asyncio.timeout(2): pass", True),
        ("in_virtual_time(work); await asyncio.sleep(3_600)", False),
    ],
)
def test_waits_for_a_time_are_found(line: str, is_found: bool) -> None:
    assert bool(waits_without_reason(f"class TestIt:\n    async def test_it():\n        {line}\n")) is is_found


@pytest.mark.parametrize("folder", EXEMPT, ids=lambda path: path.name)
def test_what_is_exempt_exists(folder: Path) -> None:
    assert folder.exists()
