"""A partner's AS2 server, made of pyas2lib as its documentation shows: takes messages, answers with receipts, sends its own."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.as2_peer import organization, partner, pyas2lib
from postroad.core.codecs.cms import Identity
from postroad.core.codecs.mime import write_head
from tests.samples.cms_people import clerk
from tests.samples.cms_people import partner as acme
from tests.samples.push_receiver import Answer, Pushed, Receiver, receiver

US, THEM = "My Biz", "ACME"
PATH, RECEIPTS = "/as2", "/receipts"


def on_the_wire(headers: Any, body: bytes) -> bytes:
    return write_head([(str(name), str(value)) for name, value in headers]) + b"\r\n" + body


def post(url: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, dict(answer.headers.items()), answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, dict(refused.headers.items()), refused.read()


@dataclass
class LibraryPartner:
    server: Receiver
    own: Identity = field(default_factory=acme)
    us: Identity = field(default_factory=clerk)
    taken: list[bytes] = field(default_factory=list)
    types: list[str] = field(default_factory=list)  # content types of what was taken, with their parameters
    statuses: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    late: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)  # receipts that were asked for later
    sends_late: bool = True

    def __post_init__(self) -> None:
        self.server.answers[PATH] = self._answer

    @property
    def url(self) -> str:
        return self.server.url(PATH)

    def _answer(self, pushed: Pushed) -> Answer:
        message = pyas2lib().Message()
        status, _, mdn = message.parse(
            on_the_wire(pushed.headers.items(), pushed.body),
            find_org_cb=lambda name: organization(THEM, self.own) if name == THEM else None,
            find_partner_cb=lambda name: partner(US, self.us) if name == US else None,
        )
        self.statuses.append(status)
        if status == "processed" and pushed.headers["message-id"] not in self.seen:
            self.seen.add(pushed.headers["message-id"])
            self.taken.append(message.content)
            self.types.append(str(message.payload["content-type"]))
        if mdn is None:
            return Answer(status=200)
        headers = {str(name): str(value) for name, value in mdn.headers.items()}
        if mdn.mdn_mode == "SYNC":
            return Answer(status=200, body=mdn.content, headers=headers)
        self.late.append((mdn.mdn_url, headers, mdn.content))
        if self.sends_late:
            threading.Timer(0.2, post, self.late[-1]).start()
        return Answer(status=200)

    def message(self, body: bytes, own: Identity | None = None, **options: object) -> Any:
        """A message from the partner, made by the library."""
        made = pyas2lib().Message(
            sender=organization(THEM, own or self.own, mdn_url=self.server.url(RECEIPTS), domain="acme.example"),
            receiver=partner(US, self.us, **options),
        )
        made.build(body, content_type="application/octet-stream", filename="order.edi")
        return made

    def send(self, url: str, made: Any) -> tuple[int, dict[str, str], bytes]:
        return post(url, {str(name): str(value) for name, value in made.headers.items()}, made.content)

    def verdict(self, made: Any, headers: Any, body: bytes) -> tuple[str, str | None]:
        """What the library makes of our receipt."""
        found: tuple[str, str | None] = pyas2lib().Mdn().parse(on_the_wire(headers, body), lambda *_: made)
        return found


@contextmanager
def library_partner() -> Iterator[LibraryPartner]:
    with receiver() as server:
        yield LibraryPartner(server)
