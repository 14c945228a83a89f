"""Just enough of a browser: follows links and redirects, fills forms in, and shows a password only to the site it is for."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import httpx2


class _Page(HTMLParser):
    """The links, the fields and the headings of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.action = ""
        self.fields: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: text or "" for name, text in attributes}
        if tag == "a":
            self.links.append(given["href"])
        elif tag == "form":
            self.action = given["action"]
        elif tag == "input":
            self.fields[given["name"]] = given.get("value", "")


class Browser:
    def __init__(self, logins: dict[str, tuple[str, str]]) -> None:
        self._logins = logins  # by the address of a site: name and password for when it asks
        self._http = httpx2.Client()
        self.visited: list[str] = []
        self.text = ""
        self.status = 0

    @property
    def page(self) -> _Page:
        return _Page(self.text)

    def open(self, address: str) -> None:
        self._go("GET", address)

    def follow(self, number: int = 0) -> None:
        self._go("GET", urljoin(self.visited[-1], self.page.links[number]))

    def submit(self, **filled: str) -> None:
        page = self.page
        self._go("POST", urljoin(self.visited[-1], page.action), page.fields | filled)

    def _go(self, method: str, address: str, form: dict[str, str] | None = None) -> None:
        while True:
            self.visited.append(address)
            parts = urlsplit(address)
            login = self._logins.get(f"{parts.scheme}://{parts.netloc}")
            answer = self._http.request(method, address, data=form, auth=login)
            if answer.status_code != 303:
                self.text, self.status = answer.text, answer.status_code
                return
            method, address, form = "GET", urljoin(address, answer.headers["location"]), None

    def close(self) -> None:
        self._http.close()
