"""A running network and an AS2 partner that others wrote, over HTTP in both directions."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.as2_peer import pyas2lib
from postroad.client import Client
from tests.interop.as2_partner import PATH, RECEIPTS, THEM, US, LibraryPartner, library_partner, post
from tests.samples.as2_scenario import certificate_pem, key_pem
from tests.samples.cms_people import clerk, stranger
from tests.samples.cms_people import partner as acme
from tests.samples.served_network import Served, served, succeeded
from tests.waiting import eventually

try:
    pyas2lib()
except ImportError as fault:  # an OpenSSL that its oscrypto does not find or know
    pytest.skip(f"pyas2lib does not import here: {fault}", allow_module_level=True)

DOCUMENT = b"ISA*00*~\nIEA*1~\r\n" + bytes(range(256))
OCTETS = "application/octet-stream"


class ServedPartnership:
    """The network, the service that sends and gets, and the partner."""

    def __init__(self, network: Served, partner: LibraryPartner, orders: Client) -> None:
        self.network = network
        self.partner = partner
        self.url = network.url + PATH
        self.orders = orders

    def agree(self, **as2: Any) -> None:
        """Make the agreement what the test wants."""
        agreement = {
            "name": THEM,
            "ownName": US,
            "certificates": [certificate_pem(acme())],
            "secretFrom": "file:as2.pem",
            "deliverTo": "Aster/Orders",
        }
        push = {"url": self.partner.url, "authentication": "none", "retryIntervalSeconds": 1, "tries": 5}
        profile = {"format": "as2", "delivery": "push", "push": push, "as2": agreement | as2}
        key = {"label": "test", "keyFrom": f"file:{self.network.key('Aster/Orders')}"}
        services = {"Orders": {"visibility": "public", "credentials": [key]}, "Acme": profile}
        file = self.network.data.parent / "agreed.yaml"
        file.write_text(json.dumps({"postroad": 1, "organizations": {"Aster": {"services": services}}}))
        succeeded("apply", file, "--yes", "--data", self.network.data)

    def post(self, body: bytes = DOCUMENT) -> str:
        return self.orders.post_wire(body, OCTETS, to="Aster/Acme").session

    def stop(self, session: str) -> Any:
        """What became of the message at the partner."""
        return self.orders.trace(session).messages[0].copies[0].stops[-1]

    def ends(self, session: str, state: str) -> Any:
        eventually(lambda: self.stop(session).state == state)
        return self.stop(session)

    def polled(self, wait_s: float = 60.0) -> list[bytes]:
        found = self.orders.poll(wait_s=wait_s)
        if found:
            self.orders.acknowledge(*found)
        return [message.parts[0].data for message in found]


@pytest.fixture(scope="module")
def partnership(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPartnership]:
    folder = tmp_path_factory.mktemp("as2")
    secrets = folder / "data" / "push-secrets" / "Aster"
    secrets.mkdir(parents=True)
    (secrets / "as2.pem").write_text(key_pem(clerk()))
    with library_partner() as partner, served(folder / "data", "--set", "push_allow_private=127.0.0.0/8") as network:
        network.register("Aster/Orders")
        with network.client("Aster/Orders") as orders:
            yield ServedPartnership(network, partner, orders)


def fresh(partnership: ServedPartnership, **as2: Any) -> LibraryPartner:
    """The partner with nothing in its hands, and the agreement of the test."""
    partner = partnership.partner
    partner.taken.clear()
    partner.types.clear()
    partner.statuses.clear()
    partner.late.clear()
    partner.server.pushed.clear()
    partner.sends_late = True
    partner.server.answers.pop(RECEIPTS, None)
    partnership.agree(**as2)
    return partner


# ---- the partner receives --------------------------------------------------------------------------------------------


@pytest.mark.req("T7", "K3", "D3")
@pytest.mark.parametrize(
    "agreed",
    [
        {},
        {"sign": "sha1", "encrypt": "aes128-cbc", "compress": "before"},
        {"sign": "sha512", "encrypt": ""},
        {"sign": "sha256", "encrypt": "aes192-cbc", "mdnSigned": False},
        {"mdn": "none"},
        {"mdn": "async"},
    ],
)
def test_the_partner_takes_what_we_send_and_its_receipt_counts(
    partnership: ServedPartnership, agreed: dict[str, Any]
) -> None:
    partner = fresh(partnership, **agreed)
    session = partnership.post()
    partnership.ends(session, "delivered")
    assert partner.taken == [DOCUMENT]
    assert partner.statuses == ["processed"]
    if agreed.get("mdn") != "none":
        key = partnership.network.key("Aster/Orders")
        kept = succeeded("as2", "mdn", session, "--url", partnership.network.url, "--key-file", key)
        assert "disposition-notification" in kept


@pytest.mark.req("T7")
def test_a_partner_that_cannot_read_us_says_so_once(partnership: ServedPartnership) -> None:
    partner = fresh(partnership)
    partner.us = stranger()  # it knows another certificate of ours
    try:
        stop = partnership.ends(partnership.post(), "failed")
    finally:
        partner.us = clerk()
    assert "authentication-failed" in str(stop) or "integrity-check-failed" in str(stop)
    assert len(partner.statuses) == 1


@pytest.mark.req("T7")
def test_a_receipt_of_another_key_is_no_success_and_the_same_message_goes_out_again(
    partnership: ServedPartnership,
) -> None:
    partner = fresh(partnership, encrypt="")
    partner.own = stranger()
    session = partnership.post()
    eventually(lambda: len(partner.statuses) >= 2)
    assert partnership.stop(session).state == "queued"
    partner.own = acme()
    partnership.ends(session, "delivered")
    assert len({pushed.headers["message-id"] for pushed in partner.server.at(PATH)}) == 1


@pytest.mark.req("T7")
def test_a_receipt_that_somebody_else_posts_is_no_success(partnership: ServedPartnership) -> None:
    partner = fresh(partnership, mdn="async")
    partner.sends_late = False
    session = partnership.post()
    eventually(lambda: partner.late)
    [(url, headers, body)] = partner.late
    changed = body.replace(b"Disposition: automatic-action", b"disposition: automatic-action")
    assert changed != body
    unsigned = headers | {"Content-Type": "multipart/report; report-type=disposition-notification; boundary=x"}
    report = b"--x\r\nContent-Type: message/disposition-notification\r\n\r\n" + _fields_in(body) + b"\r\n--x--\r\n"
    for forged_headers, forged in ((headers, changed), (unsigned, report)):
        assert post(url, forged_headers, forged)[0] == 200
        assert partnership.stop(session).state == "queued"
    assert post(url, headers | {"AS2-From": "Birch"}, body)[0] == 403
    assert post(url, headers, body)[0] == 200
    partnership.ends(session, "delivered")
    assert post(url, headers, body)[0] == 200  # late, and again


def _fields_in(receipt: bytes) -> bytes:
    """The part for programs."""
    begin = receipt.index(b"Reporting-UA")
    return receipt[
        begin : receipt.index(b"\r\n--", begin) if b"\r\n--" in receipt[begin:] else receipt.index(b"\n--", begin)
    ]


# ---- the partner sends -----------------------------------------------------------------------------------------------


@pytest.mark.req("T7", "K3")
@pytest.mark.parametrize(
    "made",
    [
        {"sign": True, "encrypt": True, "enc_alg": "aes_256_cbc", "mdn_digest_alg": "sha256"},
        {"sign": True, "digest_alg": "sha1", "compress": True, "mdn_digest_alg": "sha1"},
        {"sign": True, "encrypt": True, "enc_alg": "tripledes_192_cbc", "compress": True},
        {"sign": True, "sign_alg": "rsassa_pss", "encrypt": True, "enc_alg": "aes_128_cbc", "key_enc_alg": "rsaes_oaep"},
    ],
)  # fmt: skip
def test_we_take_what_the_partner_sends_and_it_believes_our_receipt(
    partnership: ServedPartnership, made: dict[str, Any]
) -> None:
    partner = fresh(partnership)
    message = partner.message(DOCUMENT, mdn_mode="SYNC", **made)
    status, headers, body = partner.send(partnership.url, message)
    assert status == 200
    assert partner.verdict(message, headers.items(), body) == ("processed", None)
    assert partnership.polled() == [DOCUMENT]


@pytest.mark.req("T7", "K3")
def test_the_partner_gets_its_receipt_later(partnership: ServedPartnership) -> None:
    partner = fresh(partnership)
    message = partner.message(DOCUMENT, sign=True, mdn_mode="ASYNC", mdn_digest_alg="sha256")
    status, _, body = partner.send(partnership.url, message)
    assert (status, body) == (200, b"")
    [receipt] = partner.server.wait_for(RECEIPTS)
    assert partner.verdict(message, receipt.headers.items(), receipt.body) == ("processed", None)
    assert partnership.polled() == [DOCUMENT]


@pytest.mark.req("T7", "D5")
def test_a_repeated_message_is_delivered_once_and_gets_the_same_receipt(partnership: ServedPartnership) -> None:
    partner = fresh(partnership)
    message = partner.message(DOCUMENT, sign=True, mdn_mode="SYNC", mdn_digest_alg="sha256")
    first, again = partner.send(partnership.url, message), partner.send(partnership.url, message)
    assert first[2] == again[2]
    assert first[1]["message-id"] == again[1]["message-id"]
    assert partnership.polled() == [DOCUMENT]
    assert partnership.polled(0.0) == []


@pytest.mark.req("T7")
def test_the_partner_is_told_what_is_wrong(partnership: ServedPartnership) -> None:
    partner = fresh(partnership)
    forged = partner.message(DOCUMENT, own=stranger(), sign=True, mdn_mode="SYNC", mdn_digest_alg="sha256")
    _, headers, body = partner.send(partnership.url, forged)
    assert partner.verdict(forged, headers.items(), body) == ("processed/error", "authentication-failed")
    bare = partner.message(DOCUMENT, mdn_mode="SYNC", mdn_digest_alg="sha256")
    _, headers, body = partner.send(partnership.url, bare)
    assert partner.verdict(bare, headers.items(), body) == ("processed/error", "insufficient-message-security")
    assert partnership.polled(0.0) == []
    unknown = {str(name): str(value) for name, value in bare.headers.items()} | {"AS2-From": "Birch"}
    status, _, told = post(
        partnership.url, {name: text for name, text in unknown.items() if name != "as2-from"}, bare.content
    )
    assert (status, json.loads(told)["code"]) == (403, "as2.partner-unknown")


@pytest.mark.req("T7")
def test_the_partners_certificate_is_rolled_over_without_a_break(partnership: ServedPartnership) -> None:
    old, new = certificate_pem(acme()), certificate_pem(stranger())
    partner = fresh(partnership, certificates=[new, old])
    for signer in (acme(), stranger()):
        message = partner.message(DOCUMENT, own=signer, sign=True, mdn_mode="SYNC", mdn_digest_alg="sha256")
        _, headers, body = partner.send(partnership.url, message)
        assert partner.verdict(message, headers.items(), body) == ("processed", None)
    assert partnership.polled() == [DOCUMENT, DOCUMENT]
    partnership.agree(certificates=[new])
    message = partner.message(DOCUMENT, own=acme(), sign=True, mdn_mode="SYNC", mdn_digest_alg="sha256")
    _, headers, body = partner.send(partnership.url, message)
    assert partner.verdict(message, headers.items(), body) == ("processed/error", "authentication-failed")


@pytest.mark.req("T7", "D5")
def test_a_network_that_is_killed_answers_the_repeated_message_as_before(partnership: ServedPartnership) -> None:
    partner = fresh(partnership)
    message = partner.message(DOCUMENT, sign=True, encrypt=True, mdn_mode="SYNC", mdn_digest_alg="sha256")
    first = partner.send(partnership.url, message)
    partnership.network.end(signal.SIGKILL)
    partnership.network.start()
    again = partner.send(partnership.url, message)
    assert first[2] == again[2]
    assert partner.verdict(message, again[1].items(), again[2]) == ("processed", None)
    assert partnership.polled() == [DOCUMENT]
    assert partnership.polled(0.0) == []
