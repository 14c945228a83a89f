"""Find a service, and read how to call it; what the page shows works."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from postroad.client import Client
from tests.console.browsing import Person
from tests.console.conftest import Demo

PASSWORD = "a long sentence that nobody guesses"


@pytest.mark.req("N3", "C1")
def test_finds_a_service_and_calls_it_as_the_page_says(visitor: Callable[..., Person], demo: Demo) -> None:
    person = visitor()
    person.register("Bilberry Ltd", "bilberry@bilberry.example", PASSWORD)
    person.page.click("nav >> text=Directory")
    person.snap("directory")
    person.page.fill("#text", "zip")
    person.page.click("main >> button:text-is('Search')")
    assert "1 service" in person.text()
    person.page.click("text=XpandiCo/zipPlus4")
    person.snap("directory-service")
    key = (demo.data / "keys" / "MyBiz-Purchasing.key").read_text().strip()
    command = person.page.inner_text("#sample-curl")
    done = subprocess.run(
        ["sh", "-c", f"{command} -s"], env={"POSTROAD_KEY": key, "PATH": "/usr/bin:/bin"}, capture_output=True
    )
    assert json.loads(done.stdout)["session"]
    person.go("/directory?text=nothing+like+this")
    assert "No services match" in person.text()


@pytest.mark.req("N3")
def test_a_private_service_of_others_is_not_there(visitor: Callable[..., Person], demo: Demo) -> None:
    person = visitor(scripts=False)
    person.register("Birch Ltd", "birch@birch.example", PASSWORD)
    person.go("/directory?text=Purchasing")
    assert "MyBiz/Purchasing" not in person.text()
    person.refusals_expected = True
    with Client(demo.url, demo.operator_key) as operator:
        [gcid] = [one["gcid"] for one in operator.every("/v1/services") if one["address"] == "MyBiz/Purchasing"]
    person.go(f"/directory/{gcid}")
    private = person.text()
    person.go("/directory/0000000000000000")
    assert person.text() == private
