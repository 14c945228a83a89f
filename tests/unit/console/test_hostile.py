"""Texts of others stay texts: whatever somebody writes into names, messages, errors or addresses, no page takes it for markup."""

from __future__ import annotations

import asyncio
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

from postroad.console.page_guards import OPEN_FORM_BYTES
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.directory import Person, Role
from postroad.core.model.message import Message, Part, Property, Recipient
from postroad.flow.administration import support
from postroad.flow.administration.base import ABSENT_S
from postroad.flow.registries.configuration import build_save
from postroad.flow.stages.body_reader import LARGE_BYTES
from tests.samples.routing_organization import HOUSE
from tests.unit.console.inhabited import PASSWORD, Inhabited, Visitor, enter_all, inhabited
from tests.unit.console.test_privileges import ROWS

OUT_OF_WHEREVER = "'\"--></pre></textarea></title></style></script>"
TEXTS = (
    f"{OUT_OF_WHEREVER}<evil onevil=alert(1)>",
    '" onevil="alert(1)" x="',
    "' onevil='alert(1)' x='",
    "x onevil=alert(1) y",
    "<script>alert('evil')</script>",
    "<img src=x onevil=alert(1)>",
    "<svg/onevil=alert(1)>",
    "{{ 7*7 }}{% evil %}${7*7}",
    "javascript:alert('evil')",
    "&lt;evil onevil=1&gt;<evil\tonevil=1>\u2028<evil>",
)
ALL = " ".join(TEXTS)[:600]
SHORT = f"{OUT_OF_WHEREVER}<evil onevil=alert(1)>"[:120]
EMAIL = '"\'><evil\u00a0onevil=1>"@workshop.example'
WITNESS = re.compile(r"^evil|^onevil$")


class Taken(HTMLParser):
    """Whatever of a page a browser would take for an element, an attribute or a script."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name: value or "" for name, value in attrs}
        wrong = WITNESS.match(tag) or any(name.startswith("on") or name == "style" for name in names)
        inline = tag == "script" and "src" not in names
        leads = any(names.get(name, "").strip().lower().startswith("javascript:") for name in ("href", "src", "action"))
        if wrong or inline or leads:
            self.faults.append(f"{tag} {names}")


def taken(page: str) -> list[str]:
    parser = Taken()
    parser.feed(page)
    parser.close()
    return parser.faults


def test_the_witness_sees_what_would_run() -> None:
    for text in (TEXTS[0], f'<a title="{TEXTS[1]}">', f"<a title='{TEXTS[2]}'>", f"<a title={TEXTS[3]}>", *TEXTS[4:7]):
        assert taken(text), text
    assert taken(f'<a href="{TEXTS[8]}">')


@pytest.mark.req("C1")
async def test_no_page_takes_texts_for_markup(tmp_path: Path) -> None:
    async with inhabited(tmp_path, private=SHORT) as found:
        people = await enter_all(found)
        await _write_everywhere(found, people["owner"])
        pages = [found.place(row.address, "owner") for row in ROWS if row.method == "GET"]
        pages += [
            f"/messages/{session}{part}" for session in await _send(found) for part in ("", "/contents", "/explanation")
        ]
        pages += ["/messages?box=sent", "/dead-letters", *_asked_for()]
        seen, faults = 0, []
        for address in pages:
            for who in ("owner", "operator", "stranger"):
                answer = await people[who].get(address)
                seen += "&lt;evil" in answer.text
                faults += [f"{address} as {who}: {one}" for one in _markup(answer)]
        assert not faults, "\n".join(faults)
        assert seen > 30, seen  # they do show the texts


def _markup(answer: httpx2.Response) -> list[str]:
    headers, text = answer.headers, answer.text
    is_page = headers.get("content-type", "").startswith(("text/html", "image/svg"))
    return taken(text) if is_page and "attachment" not in headers.get("content-disposition", "") else []


def _asked_for() -> list[str]:
    """Addresses that are hostile themselves."""
    text = quote(ALL)
    return [
        f"/find?q={text}", f"/?done={text}", f"/login?next=/{text}", f"/messages?topic={text}&service={text}",
        f"/live?service={text}",
        f"/directory?text={text}&category={text}", f"/test?service={text}&session={text}", f"/support/new?session={text}",
        f"/models/x?topic={text}", f"/batches?service={text}", f"/connect?service={text}&provider={text}", f"/nothing/{text}",
    ]  # fmt: skip


async def _write_everywhere(found: Inhabited, owner: Visitor) -> None:
    """What members may write: names, labels, rules, requests, answers to them."""
    person = Person(email=EMAIL, name=SHORT, organization=HOUSE, role=Role.VIEWER)
    await found.running.network.configuration.change("tests", [build_save(person)])
    asker = found.person("viewer@workshop.example")
    asked = await support.open_request(found.administration, asker, SHORT, ALL)
    found.places["request owner"] = asked.id
    await owner.send("/account/name", {"name": SHORT})
    made = await owner.send("/account/keys", {"label": SHORT, "current": PASSWORD})
    assert made.status_code == 200
    await owner.send(f"/services/{found.places['buyer']}/keys", {"label": SHORT})
    for form in ("/services/new", "/test/rule", f"/rules/{found.places['buyer']}/new", "/register", "/login"):
        fields = dict.fromkeys(("organization", "name", "service", "text", "document", "more", "email"), ALL)
        answer = await owner.send(form, fields)
        assert not _markup(answer), form


async def _send(found: Inhabited) -> list[str]:
    """Messages all over of it: as payload, ids, kinds, properties, topics and handles; one failed with such an error."""
    sessions = []
    for number, text in enumerate(TEXTS):
        message = Message(
            to=(Recipient(f"{HOUSE}/Shop"),), topic=SHORT, handle=text[:60],
            properties=(Property("evil", text),),
            parts=(Part(id=f"<evil>{number}", content_type="text/html", data=text.encode()),),
        )  # fmt: skip
        sessions.append((await found.running.network.post(found.service(f"{HOUSE}/Buyer"), message)).session)
    for delivered in await found.fetch(f"{HOUSE}/Shop"):
        await found.running.network.fail(delivered, make_reason("other", detail=ALL))
    return sessions[:1] + sessions[4:6]


@pytest.mark.req("Z7")
async def test_forms_before_the_login_are_small_and_those_of_members_are_read_whole(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as found:
        people = await enter_all(found)
        stranger = found.visitor()
        answer = await stranger.send("/login", {"email": "x@x.example", "password": "x" * (OPEN_FORM_BYTES + 1)})
        assert (answer.status_code, f"at most {OPEN_FORM_BYTES} bytes" in answer.text) == (413, True)
        text = "é" * LARGE_BYTES  # read in a thread, and unchanged
        answer = await people["owner"].send(
            found.place("/rules/{buyer}/check", "owner"), {"name": "r", "description": text}
        )
        assert answer.status_code == 200


@pytest.mark.req("Z5")
async def test_a_page_that_does_not_exist_takes_as_long_as_one_of_others(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as found:
        people = await enter_all(found)
        for path in ("/messages/" + "0" * 32, f"/dead-letters/{1 << 40}"):
            began = asyncio.get_running_loop().time()
            assert (await people["owner"].get(path)).status_code == 404
            assert asyncio.get_running_loop().time() - began >= ABSENT_S
