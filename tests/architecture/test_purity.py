"""Core has no clock, no randomness, no I/O and no async; XML and Spark each have one door.

import-linter sees imports only, and ruff's exemptions are all or nothing, so what core calls and who may parse XML is
checked here.
"""

from __future__ import annotations

import ast

import pytest

from postroad.adapters.validation import workers
from tests.source_tree import Module, modules

CORE = modules("core")
CLOCKS = {"now", "utcnow", "today", "fromtimestamp"}  # methods of datetime and date; fromtimestamp reads the local zone
IMPURE_BUILTINS = {"open", "print", "input", "breakpoint", "exec", "eval"}
IMPURE_MODULES = ("time", "random", "secrets", "os", "logging", "asyncio", "socket", "uuid", "threading", "pathlib")
# What libxml2 remembers belongs to a thread, so what is kept of it must too; no result depends on which thread it is.
OF_THREADS = {"core/codecs/xml_names.py": ["imports threading.local"]}


def impurities(module: Module) -> list[str]:
    """What a core module does that depends on anything but its arguments."""
    found = [f"line {getattr(node, 'lineno', 0)}: {text}" for node in ast.walk(module.tree) if (text := impurity(node))]
    return found + [f"imports {name}" for name in module.imported_names() if name.split(".")[0] in IMPURE_MODULES]


def impurity(node: ast.AST) -> str:
    match node:
        case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
            return "async"
        case ast.Call(func=ast.Name(id=name)) if name in IMPURE_BUILTINS:
            return f"{name}()"
        case ast.Call(func=ast.Attribute(attr=name, value=owner), args=arguments) if name in CLOCKS:
            zoned = name == "fromtimestamp" and len(arguments) > 1
            return "" if zoned or not is_a_date_type(owner) else f"{name}()"
    return ""


def is_a_date_type(owner: ast.expr) -> bool:
    return (owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")) in {"datetime", "date"}


@pytest.mark.parametrize("module", CORE, ids=lambda module: module.name)
def test_core_depends_on_its_arguments_alone(module: Module) -> None:
    assert impurities(module) == OF_THREADS.get(module.name, [])


@pytest.mark.parametrize(
    "source",
    [
        "from datetime import datetime\nx = datetime.now()",
        "import datetime\nx = datetime.datetime.utcnow()",
        "import datetime\nx = datetime.date.today()",
        "from datetime import datetime\nx = datetime.fromtimestamp(1)",
        "import time",
        "from random import choice",
        "import os.path",
        "from logging import getLogger",
        "def f():\n    import asyncio",
        "async def f(): ...",
        "x = open('f')",
        "print(1)",
    ],
)
def test_the_check_sees_what_it_forbids(source: str) -> None:
    assert impurities(Module(path=CORE[0].path, tree=ast.parse(source)))


def test_the_check_lets_pure_dates_pass() -> None:
    source = "from datetime import UTC, datetime\nx = datetime.fromtimestamp(1, UTC)\ny = clock.now()\nz = store.open()"
    assert impurities(Module(path=CORE[0].path, tree=ast.parse(source))) == []


def test_xml_is_parsed_in_one_place() -> None:
    doors = {module.name for module in modules() if module.imports("lxml", "xml", "defusedxml", "xmltodict")}
    # libxml2 validates only its own trees; this module lives in a confined worker, and has documents pass the door first.
    validating = "adapters/validation/xml_judges.py"
    assert doors <= {"core/codecs/xml.py", validating}


def test_the_server_never_loads_what_compiles_schemas() -> None:
    users = {module.name for module in modules() if module.imports("postroad.adapters.validation.schema_cache")}
    assert users == set(), "only a worker's main function loads it, by the name in ``adapters/validation/workers.py``"
    assert workers.ENGINE == "postroad.adapters.validation.schema_cache"


def test_spark_is_known_to_the_warehouse_alone() -> None:
    users = {module.name for module in modules() if module.imports("pyspark", "delta", "deltalake")}
    reading = (
        "adapters/marts/tables.py"  # finished tables, as files; the log beside them says which are theirs; no Spark
    )
    assert {name for name in users if not name.startswith("warehouse/")} == {reading}
    assert [module.name for module in modules() if module.name == reading and module.imports("pyspark", "delta")] == []
