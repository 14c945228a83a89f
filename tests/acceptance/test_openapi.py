"""The OpenAPI document tells the truth: schemathesis tries everything in it, as several people, and finds nothing."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from postroad.api.application import ROUTES
from postroad.api.resources.reference import reference_files
from postroad.core.model.refusals import REFUSALS
from tests.acceptance.served import Served, served_network

HERE = Path(__file__).parent
REFERENCE = HERE.parents[1] / "docs" / "reference"
EXAMPLES = int(os.environ.get("POSTROAD_TEST_API_EXAMPLES", "2"))  # besides those that cover each limit of the document
SEED = 1
UNTRIED = 3  # operations that schemathesis.toml turns off: those that take conditions
WAITING = ("/v1/poll", "/v1/messages/next")  # a service that waits for messages waits as long as it is told


@pytest.fixture
def served() -> Iterator[Served]:
    with served_network() as running:
        yield running


@pytest.mark.timeout(3_600)
@pytest.mark.req("M4", "Z5")
@pytest.mark.parametrize("who", ["owner of A", "service of A", "operator"])
def test_schemathesis_finds_nothing(served: Served, who: str, tmp_path: Path) -> None:
    # By Basic, because logging out would end a key that is used as such.
    basic = base64.b64encode(f"key:{served.keys[who]}".encode()).decode()
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / "schemathesis.toml"), "run",
               f"{served.url}/openapi.json", "-H", f"Authorization: Basic {basic}", "--seed", str(SEED),
               "--max-examples", str(EXAMPLES), "--generation-database", "none"]  # fmt: skip
    without = WAITING if who == "service of A" else ()
    for path in without:
        command += ["--exclude-path", path]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=3_590, check=False)
    assert run.returncode == 0, run.stdout[run.stdout.find("= FAILURES =") :][:8_000] + run.stderr[-2_000:]
    selected = re.search(r"Selected: (\d+)/(\d+)", run.stdout)
    assert selected is not None
    assert int(selected[2]) - int(selected[1]) == UNTRIED + len(without), "a filter turns off more than it says"


def test_the_served_document_is_the_published_one(served: Served) -> None:
    answer = httpx2.get(f"{served.url}/openapi.json")
    assert answer.status_code == 200
    assert answer.json() == json.loads((REFERENCE / "openapi.json").read_text())


@pytest.mark.docs
@pytest.mark.parametrize("name", sorted(reference_files()))
def test_reference_files_are_current(name: str) -> None:
    assert (REFERENCE / name).read_text() == reference_files()[name], (
        "run `python -m postroad.api.resources.reference docs/reference` and commit"
    )


def test_every_operation_says_who_may_ask_and_how_it_fails() -> None:
    document = json.loads((REFERENCE / "openapi.json").read_text())
    assert document["openapi"].startswith("3.1")
    operations = [
        (path, method, item) for path, methods in document["paths"].items() for method, item in methods.items()
    ]
    assert len(operations) >= len(ROUTES)
    assert [path for path, _, item in operations if "security" not in item or "500" not in item["responses"]] == []
    ids = [item["operationId"] for _, _, item in operations]
    assert len(ids) == len(set(ids))
    assert document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"] == sorted(REFUSALS)
