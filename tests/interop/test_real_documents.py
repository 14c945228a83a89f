"""Documents that others wrote, from other products' test suites: posted in every form, delivered in every form, byte for byte.

The collection lies beside the repository in ``../shared/fixtures``; without it there is nothing to try, and the tests say so.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroad.core.codecs.codec import Codec
from postroad.core.codecs.envelope import ENVELOPE_FORM
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.model.message import Delivered, Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.testing.http_client import ClientConnection
from postroad.testing.server import ServerProcess
from tests.samples.enrolled_parties import serving

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures"
ALL_OF = ("soap", "purchase_orders", "gs1xml")  # of the other kinds, a few are enough here
A_FEW = 6
SENDER, RECEIVER = "MyBiz/Purchasing", "Acme/Supply"
FORMS: dict[str, Codec] = {"json": JSON_FORM, "envelope": ENVELOPE_FORM, "soap11": SOAP11, "soap12": SOAP12}
GENEROUS = WireLimits(body_bytes=1 << 30)
CONTENT_TYPES = {".xml": "application/xml", ".json": "application/json", ".txt": "text/plain"}
Served = tuple[ServerProcess, dict[str, str]]

pytestmark = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason="needs the collection of real documents in ../shared/fixtures, which is not there"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("interop") / "data", SENDER, RECEIVER) as running:
        yield running


def documents() -> list[Path]:
    chosen: list[Path] = []
    for folder in sorted(path for path in FIXTURES.iterdir() if path.is_dir()):
        files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "SOURCES.txt")
        chosen += files if folder.name in ALL_OF else files[:: max(1, len(files) // A_FEW)]
    return chosen


def part_of(path: Path) -> Part:
    kind = CONTENT_TYPES.get(path.suffix.lower(), "application/octet-stream")
    return Part(id="document", content_type=kind, data=path.read_bytes())


async def deliveries(served: Served, codec: Codec) -> list[Delivered]:
    server, keys = served
    found: list[Delivered] = []
    async with ClientConnection(server.port, keys[RECEIVER]) as receiving:
        path, settle_path = ("/soap", "/soap") if codec in (SOAP11, SOAP12) else ("/v1/poll", "/v1/ack")
        while True:
            answer = await receiving.post(path, codec.encode_poll(PollRequest(max=100)), codec.media_type)
            assert answer.status == 200, answer.body[:500]
            messages = codec.decode_delivered(answer.body, GENEROUS)
            if not messages:
                return found
            settlement = codec.encode_settlement(Settlement(tokens=tuple(one.token for one in messages)))
            assert (await receiving.post(settle_path, settlement, codec.media_type)).status == 200
            found += messages


@pytest.mark.req("M3", "M4")
@pytest.mark.parametrize(("posted_as", "delivered_as"), list(itertools.product(FORMS, FORMS)))
async def test_real_documents_arrive_as_they_were(served: Served, posted_as: str, delivered_as: str) -> None:
    server, keys = served
    codec, paths = FORMS[posted_as], documents()
    assert len(paths) > 100
    async with ClientConnection(server.port, keys[SENDER]) as posting:
        for number, path in enumerate(paths):
            message = Message(to=(Recipient(RECEIVER),), handle=str(number), parts=(part_of(path),))
            target = "/soap" if codec in (SOAP11, SOAP12) else "/v1/messages"
            answer = await posting.post(target, codec.encode_post(message), codec.media_type)
            assert answer.status in (200, 202), f"{path}: {answer.body[:500]!r}"
    found = await deliveries(served, FORMS[delivered_as])
    assert [int(one.handle) for one in found] == list(range(len(paths)))
    changed = [str(path) for one, path in zip(found, paths, strict=True) if one.parts != (part_of(path),)]
    assert changed == []


@pytest.mark.req("M3", "M4")
async def test_a_real_soap_message_of_somebody_else_is_refused_and_never_misread(served: Served) -> None:
    """An envelope of another protocol says nothing to the network: it is answered with a fault, and nothing is delivered."""
    server, keys = served
    envelopes = sorted((FIXTURES / "soap").rglob("*.xml"))
    assert envelopes
    async with ClientConnection(server.port, keys[SENDER]) as posting:
        for path in envelopes:
            data = path.read_bytes()
            codec = SOAP12 if b"http://www.w3.org/2003/05/soap-envelope" in data else SOAP11
            answer = await posting.post("/soap", data, codec.media_type)
            assert answer.status in (400, 413, 500), f"{path}: {answer.status}"
            refusal = codec.decode_refusal(answer.body)
            assert refusal.code.startswith("wire.") or refusal.code == "recipient.missing", path
    assert await deliveries(served, JSON_FORM) == []
