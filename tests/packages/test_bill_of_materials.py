"""The bill of materials has the packages of the lock, and their licenses are allowed."""

from __future__ import annotations

import json
import re
from email.message import Message
from importlib.metadata import metadata

import pytest

from scripts.bill_of_materials import LOCK, needed_at_run_time, read_lock, render_bill
from scripts.licenses import is_allowed, read_license

BILL = json.loads(render_bill())


def test_the_bill_has_each_package_of_the_lock_once_and_no_other() -> None:
    locked = sorted(re.findall(r"^([a-z0-9][a-z0-9.-]*)==(\S+)", LOCK.read_text(), re.M))
    assert len(locked) > 40
    assert sorted((one["name"], one["version"]) for one in BILL["components"]) == locked


def test_the_bill_has_every_hash_of_the_lock() -> None:
    listed = [one["value"] for component in BILL["components"] for one in component["properties"]]
    assert sorted(listed) == sorted(re.findall(r"--hash=(\S+)", LOCK.read_text()))


def test_what_is_needed_at_run_time_is_required() -> None:
    required = {one["name"] for one in BILL["components"] if one["scope"] == "required"}
    assert required == needed_at_run_time()
    assert {"lxml", "starlette", "cffi"} <= required
    assert "hatchling" not in required


def test_dependencies_lead_to_components_and_from_postroad_to_each_required_one() -> None:
    below = {one["ref"]: one["dependsOn"] for one in BILL["dependencies"]}
    root = BILL["metadata"]["component"]["bom-ref"]
    assert below.keys() == {root, *(one["bom-ref"] for one in BILL["components"])}
    reached, waiting = set[str](), [root]
    while waiting:
        for reference in below[waiting.pop()]:
            if reference not in reached:
                reached.add(reference)
                waiting.append(reference)
    assert reached == {one["bom-ref"] for one in BILL["components"] if one["scope"] == "required"}


def test_the_same_lock_gives_the_same_bill() -> None:
    assert json.loads(render_bill()) == BILL
    assert BILL["serialNumber"].startswith("urn:uuid:")


@pytest.mark.parametrize("name", sorted(pin.name for pin in read_lock() if pin.is_for_here))
def test_the_license_of_every_locked_package_is_allowed(name: str) -> None:
    expression = read_license(name, metadata(name))
    assert is_allowed(expression), f"{name} has the license {expression!r}; see scripts/licenses.py"


@pytest.mark.parametrize(
    ("headers", "expression", "allowed"),
    [
        ({"License-Expression": "Apache-2.0 OR BSD-3-Clause"}, "Apache-2.0 OR BSD-3-Clause", True),
        ({"License-Expression": "MIT AND BSD-3-Clause"}, "MIT AND BSD-3-Clause", True),
        ({"License-Expression": "MIT AND GPL-3.0-only"}, "MIT AND GPL-3.0-only", False),
        ({"License-Expression": "GPL-3.0-only OR MIT"}, "GPL-3.0-only OR MIT", True),
        ({"Classifier": "License :: OSI Approved :: BSD License"}, "BSD-3-Clause", True),
        ({"Classifier": "License :: OSI Approved :: GNU Affero GPL v3"}, "GNU Affero GPL v3", False),
        ({"License": "MIT"}, "MIT", True),
        ({"License": "Commercial"}, "Commercial", False),
        ({}, "", False),
    ],
)  # fmt: skip
def test_licenses_are_read_and_judged(headers: dict[str, str], expression: str, *, allowed: bool) -> None:
    message = Message()
    for name, value in headers.items():
        message[name] = value
    assert read_license("some-package", message) == expression  # type: ignore[arg-type] # metadata is such a message
    assert is_allowed(expression) is allowed
