"""A person with a browser, for tests: a real Chromium that speaks to a real server, and fails when a page misbehaves.

Rule: whatever a browser complains of (a script's error, a broken policy, a file that is not there) is a fault of the page,
and fails the test that opened it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Error, Page, Response, sync_playwright

QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
TIMEOUT_MS = 30_000  # for what shows within a second unless the machine is busy
NOT_READY = "Unable to capture screenshot"
MAX_PICTURES, PAUSE_MS = 4, 500
REPORT = """document.addEventListener('securitypolicyviolation',
  (event) => console.error('CSP: ' + event.violatedDirective + ' ' + event.blockedURI))"""


@contextmanager
def chromium() -> Iterator[Browser]:
    names = (os.environ.get("POSTROAD_BROWSER", ""), "chromium", "chromium-browser", "google-chrome")
    program = next((found for name in names if name and (found := shutil.which(name))), None)
    if program is None:
        pytest.fail("there is no Chromium here; `make browser` gets one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        yield browser
        browser.close()


@dataclass(slots=True, kw_only=True)
class Person:
    """One browser with its own cookies."""

    url: str
    page: Page
    pictures: Path
    faults: list[str] = field(default_factory=list)
    refusals_expected: bool = False  # 4xx answers are part of the story

    def watch(self) -> None:
        self.page.set_default_timeout(TIMEOUT_MS)
        self.page.on("console", lambda message: self._heard(message.type, message.text))
        self.page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        self.page.on(
            "response", lambda response: self._answered(response)
        )  # bound methods need a place in their object
        self.page.add_init_script(REPORT)

    def go(self, path: str) -> None:
        self.page.goto(f"{self.url}{path}")

    def text(self) -> str:
        return self.page.inner_text("main")

    def log_in(self, email: str, password: str) -> None:
        self.go("/login")
        self.page.fill("#email", email)
        self.page.fill("#password", password)
        self.page.click("main button[type=submit]")

    def register(self, organization: str, email: str, password: str) -> None:
        self.go("/register")
        for name, value in {"organization": organization, "email": email, "password": password}.items():
            self.page.fill(f"#{name}", value)
        self.page.click("main button[type=submit]")

    def snap(self, name: str) -> None:
        """Keep a picture of the whole page, and look at it with the eyes of who cannot see."""
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.picture(self.pictures / f"{name}.png", full_page=True)
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            found = Axe().run(self.page)
            assert found.violations_count == 0, f"{name}, {scheme}: {found.generate_report()}"
        self.page.emulate_media(color_scheme="light")

    def picture(self, path: Path, *, full_page: bool = False) -> None:
        """A picture as a file. On a busy machine Chromium sometimes has none ready, which says nothing about the page."""
        for _ in range(MAX_PICTURES - 1):
            try:
                self.page.screenshot(path=path, full_page=full_page)
                return
            except Error as error:
                if NOT_READY not in error.message:
                    raise
            self.page.wait_for_timeout(PAUSE_MS)
        self.page.screenshot(path=path, full_page=full_page)

    def _heard(self, kind: str, text: str) -> None:
        if kind == "error" and not (self.refusals_expected and "Failed to load resource" in text):
            self.faults.append(text)

    def _answered(self, response: Response) -> None:
        if response.status >= 500 or (response.status >= 400 and not self.refusals_expected):
            self.faults.append(f"{response.status} {response.url}")
