"""What receipt a sender wishes for is understood in every spelling, and what cannot be done is refused by its name."""

from __future__ import annotations

import pytest

from postroad.core.codecs.as2 import NO_MDN_REQUEST, MdnRequest
from postroad.core.codecs.as2.mdn_request import options_value, read_mdn_request
from postroad.errors import Refused


def wish(options: str = "", **fields: str) -> MdnRequest:
    found = {"disposition-notification-to": "x@example.com"} | {
        key.replace("_", "-"): text for key, text in fields.items()
    }
    return read_mdn_request(found | ({"disposition-notification-options": options} if options else {}))


def test_nothing_is_wished_for_without_the_header() -> None:
    assert read_mdn_request({"disposition-notification-options": options_value("sha256")}) == NO_MDN_REQUEST


def test_a_receipt_without_options_is_an_unsigned_one_at_once() -> None:
    assert wish() == MdnRequest(wanted=True)


@pytest.mark.req("T7")
@pytest.mark.parametrize(
    "options",
    [
        "signed-receipt-protocol=required, pkcs7-signature; signed-receipt-micalg=required, sha-256, sha1",
        "signed-receipt-protocol=optional,pkcs7-signature;signed-receipt-micalg=optional,SHA256,SHA-1",
        "Signed-Receipt-MicAlg = Optional , sha_256 , sha1 ; Signed-Receipt-Protocol = Optional , PKCS7-Signature",
        "signed-receipt-protocol=pkcs7-signature; signed-receipt-micalg=sha256, sha1;",
        'signed-receipt-protocol=required,"pkcs7-signature"; signed-receipt-micalg=optional,md5,sha-256,sha1',
    ],
)
def test_options_are_read_however_they_are_written(options: str) -> None:
    assert wish(options) == MdnRequest(wanted=True, signed=True, digests=("sha256", "sha1"))


def test_what_we_ask_for_is_understood_by_ourselves() -> None:
    assert wish(options_value("sha384")) == MdnRequest(wanted=True, signed=True, digests=("sha384",))


@pytest.mark.req("T7")
def test_a_receipt_for_later_names_its_address() -> None:
    assert wish(receipt_delivery_option="https://mybiz.example/as2").url == "https://mybiz.example/as2"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("signed-receipt-protocol=required, pgp-signature", "as2.unsupported-format"),
        (
            "signed-receipt-protocol=required, pkcs7-signature; signed-receipt-micalg=required, md5, rot13",
            "as2.unsupported-mic-algorithms",
        ),
    ],
)
def test_what_is_required_and_not_supported_is_refused(options: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        wish(options).refuse_unsupported()
    assert refused.value.code == code


def test_what_is_optional_and_not_supported_is_left_out() -> None:
    lenient = wish("signed-receipt-protocol=optional, pkcs7-signature; signed-receipt-micalg=optional, md5")
    lenient.refuse_unsupported()
    assert lenient == MdnRequest(wanted=True, signed=True)
