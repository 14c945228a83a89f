"""Who may open which page and send which form, for every address of the console; and that nobody reads what is others' own."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

import httpx2
import pytest
from starlette.routing import Match

from postroad.console.pages import PAGES
from postroad.console.rendering import HEADERS
from tests.unit.console.inhabited import EVERYBODY, PAYLOAD, PRIVATE, Inhabited, Visitor, enter_all, inhabited

TABLE = Path(__file__).with_name("privileges.txt")
CHANGES_NOTHING = ("in", "403", "404", "422")


class Row(NamedTuple):
    method: str
    address: str
    form: str
    expected: tuple[str, ...]


ROWS = tuple(
    Row(method, address, "" if form == "-" else form, tuple(expected))
    for method, address, form, *expected in (
        line.split() for line in TABLE.read_text().splitlines() if line and not line.startswith("#")
    )
)


def test_every_page_and_form_has_a_row() -> None:
    """A new address without one is nobody's decision who may use it."""
    used = set()
    for row in ROWS:
        path = row.address.partition("?")[0].replace("{letter}", "1")
        scope = {"type": "http", "method": row.method, "path": path}
        used.add(next(number for number, route in enumerate(PAGES) if route.matches(scope)[0] is Match.FULL))
    missing = [f"{route.methods} {route.path}" for number, route in enumerate(PAGES) if number not in used]
    assert not missing


@pytest.mark.req("C1")
async def test_everybody_may_do_what_the_table_says_and_no_more(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as found:
        people = await enter_all(found)
        said = await people["viewer"].get(found.place("/messages/{session}/contents", "viewer"))
        assert PAYLOAD in said.text  # else it would prove nothing that others do not read it
        faults: list[str] = []
        for row in ROWS:
            told = [await _told(found, people[who], who, row) for who in EVERYBODY]
            if told != list(row.expected):
                faults.append(f"{row.method} {row.address}: expected {' '.join(row.expected)}, was {' '.join(told)}")
        assert not faults, "\n".join(faults)


async def _told(found: Inhabited, visitor: Visitor, who: str, row: Row) -> str:
    """What somebody is answered; with a word on what should not be."""
    before = found.running.network.directory
    answer = await _asked(found, visitor, who, row)
    has_changed = found.running.network.directory is not before
    told = str(answer.status_code)
    if told == "303" and answer.headers["location"].startswith("/login"):
        told = "out" if row.address == "/logout" and has_changed else "in"
    faults = [
        *(["changed something"] if has_changed and told in CHANGES_NOTHING else []),
        *(["reads what is private"] if _reads_too_much(answer, who) else []),
        *(["is unprotected"] if not _is_protected(answer) else []),
    ]
    return " ".join([told, *faults])


async def _asked(found: Inhabited, visitor: Visitor, who: str, row: Row) -> httpx2.Response:
    address = found.place(row.address, who)
    if row.method == "GET":
        return await visitor.get(address)
    return await visitor.send(address, dict(parse_qsl(found.place(row.form, who), keep_blank_values=True)))


def _reads_too_much(answer: httpx2.Response, who: str) -> bool:
    hidden = {"anonymous": (PRIVATE, PAYLOAD), "stranger": (PRIVATE, PAYLOAD), "operator": (PAYLOAD,)}
    return any(word in answer.text for word in hidden.get(who, ()))


def _is_protected(answer: httpx2.Response) -> bool:
    """Whether a page that is shown is shown under our policy, and a file under a stricter one."""
    if answer.status_code == 303:
        return "content-security-policy" in answer.headers or not answer.content
    given = {name: answer.headers.get(name) for name in HEADERS}
    policy = given.pop("Content-Security-Policy") or ""
    return "default-src 'none'" in policy and given.items() >= (
        {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}.items()
    )
