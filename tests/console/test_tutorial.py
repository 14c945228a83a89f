"""The tutorial's way through the console, walked in a browser; its pictures are made on the way.

`python -m scripts.tutorial_pictures` walks it and puts the pictures into the documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize

from postroad.client import Client
from tests.console.browsing import Person
from tests.console.conftest import PICTURES, Demo
from tests.console.failing import PASSWORD, StampedOrders, add_services
from tests.source_tree import ROOT

FOLDER = PICTURES / "tutorial"
PAGE = ROOT / "docs" / "tutorial" / "console.md"
SIZE, TALL = ViewportSize(width=1100, height=760), ViewportSize(width=1100, height=1240)
SHOP = ("Corner Shop", "ada@corner.example")
NAMED = re.compile(r"\(pictures/([a-z-]+)\.png\)")


class Walk:
    """Somebody who follows the page, and takes a picture wherever it shows one."""

    def __init__(self, person: Person) -> None:
        self.person, self.page = person, person.page
        self.taken: set[str] = set()

    def picture(self, name: str) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        self.page.mouse.move(0, 0)
        self.person.picture(FOLDER / f"{name}.png")
        self.taken.add(name)

    def look_around(self, password: str) -> None:
        self.person.log_in("operator@localhost", password)
        self.picture("overview")
        self.person.go("/messages?topic=purchase-order")  # other tests have filled the first page of the list
        self.page.click("tr:has-text('MyBiz/Purchasing'):has-text('TheAcmeCompany/Supply') a >> nth=0")
        self.page.click("main >> text=request PO-1001")
        self.page.set_viewport_size(TALL)
        self.page.wait_for_load_state("networkidle")
        self.picture("message")
        self.page.set_viewport_size(SIZE)
        self.page.click("text=Log out")

    def register(self) -> None:
        self.person.go("/register")
        for field, text in zip(("organization", "email", "password"), (*SHOP, PASSWORD), strict=True):
            self.page.fill(f"#{field}", text)
        self.page.click("main button[type=submit]")
        self.picture("first-steps")

    def make_a_service(self) -> str:
        self.page.click("nav >> text=Services")
        self.page.click("text=New service")
        self.page.fill("#name", "orders")
        self.page.fill("#description", "Sends our orders")
        self.picture("service")
        self.page.click("text=Create service")
        self.page.fill("#label", "the shop's program")
        self.page.click("text=Create key")
        return self.page.inner_text("#new-key")

    def find_whom_to_send_to(self) -> None:
        self.page.click("nav >> text=Directory")
        self.page.fill("main input[name=text]", "zip")
        self.page.press("main input[name=text]", "Enter")
        self.page.click("text=XpandiCo/zipPlus4")
        self.picture("how-to-call")

    def find_the_message(self) -> None:
        self.page.fill("#q", "order-4711")
        self.page.press("#q", "Enter")
        self.page.wait_for_load_state("networkidle")
        assert "XpandiCo/zipPlus4" in self.person.text()
        self.picture("found")

    def mend(self, mill: StampedOrders) -> None:
        mill.fail(3)
        self.page.click("nav >> text=Dead letters")
        self.page.click("tbody a >> nth=0")
        self.page.click("main >> text=Resend")
        self.picture("resend")
        self.page.click("main button[type=submit] >> nth=0")
        self.page.wait_for_selector("text=/3 /")


@pytest.mark.req("C1", "C2")
def test_the_tutorial_can_be_followed(visitor: Callable[..., Person], demo: Demo, operators_password: str) -> None:
    walk = Walk(visitor(viewport=SIZE))
    walk.look_around(operators_password)
    walk.register()
    key = walk.make_a_service()
    walk.find_whom_to_send_to()
    with Client(demo.url, key) as client:
        client.post(to="XpandiCo/zipPlus4", handle="order-4711", document={"zip": "62701"})
    walk.find_the_message()
    walk.mend(add_services(demo, walk.person, *SHOP))
    assert walk.taken == set(NAMED.findall(PAGE.read_text()))  # each picture of the page is made here, and no other
    assert walk.taken == {file.stem for file in (PAGE.parent / "pictures").glob("*.png")}


def test_the_pictures_are_small() -> None:
    assert sum(file.stat().st_size for file in Path(PAGE.parent, "pictures").glob("*.png")) < 600_000
