"""The demo's network on a real socket, and people who look at it with a browser."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from postroad.client import Client
from postroad.testing.ports import free_port
from tests.console.browsing import Person, chromium
from tests.preloaded import PROGRAM, Preloaded
from tests.samples.routing_organization import RoutingOrganization, make_routing_organization
from tests.samples.served_network import clean_environment

PICTURES = Path(os.environ.get("POSTROAD_PICTURES", "var/pictures"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    url: str
    link: str  # into the console, once
    data: Path

    @property
    def operator_key(self) -> str:
        return (self.data / "operator.key").read_text().strip()


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with playing(tmp_path_factory.mktemp("console") / "demo") as running:
        yield running


@pytest.fixture
def fresh_demo(tmp_path: Path) -> Iterator[Demo]:
    """In which nobody has been before: the link that it prints ends when its owner has a password."""
    with playing(tmp_path / "demo") as running:
        yield running


@contextmanager
def playing(data: Path) -> Iterator[Demo]:
    command = [*PROGRAM, "demo", "--data", str(data), "--port", str(free_port())]
    process = Preloaded(
        command, stdout=subprocess.PIPE, text=True, env=clean_environment() | {"POSTROAD_MASTER_KEY": "0d" * 32}
    )
    assert process.stdout is not None
    url = link = ""
    for line in process.stdout:
        if line.startswith("network on "):
            url = line.split()[2]
        elif line.startswith("console "):
            link = line.split()[1]
        elif line.startswith("The network keeps running"):
            break
    try:
        yield Demo(url=url, link=link, data=data)
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """For this folder alone: while Playwright is at work in a thread, no other event loop can be."""
    with chromium() as found:
        yield found


@pytest.fixture
def visitor(browser: Browser, demo: Demo) -> Iterator[Callable[..., Person]]:
    """Opens browsers for people; at the end none of them may have complained."""
    people: list[Person] = []

    def opened(*, scripts: bool = True, **context: object) -> Person:
        page = browser.new_context(java_script_enabled=scripts, **context).new_page()  # type: ignore[arg-type]
        person = Person(url=demo.url, page=page, pictures=PICTURES)
        person.watch()
        people.append(person)
        return person

    yield opened
    for person in people:
        person.page.context.close()
        assert not person.faults, person.faults


@pytest.fixture
def operator(visitor: Callable[..., Person], demo: Demo, operators_password: str) -> Callable[[], Person]:
    """Opens a browser in which the network's operator is logged in."""

    def opened() -> Person:
        person = visitor()
        person.log_in("operator@localhost", operators_password)
        return person

    return opened


@pytest.fixture(scope="package")
def operators_password(demo: Demo) -> str:
    password = "an operator's sentence, long enough"
    with Client(demo.url, demo.operator_key) as client:
        client.change("PUT", "/v1/account/password", {"password": password})
    return password


@pytest.fixture(scope="package")
def workshop(demo: Demo) -> RoutingOrganization:
    """An organization with an exchange, a model and a send port."""
    return make_routing_organization(demo.url, demo.operator_key)
