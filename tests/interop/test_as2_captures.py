"""AS2 messages and receipts that mendelson, IBM Sterling, Oxalis, OpenAS2, Unimaze, Unit4 and BouncyCastle made.

The collection lies beside the repository in ``../shared/fixtures``; without it there is nothing to try, and the tests say so.
Its EXPECTED.txt says which signatures hold and which must not.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest
from asn1crypto.cms import ContentInfo
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key
from cryptography.x509 import Certificate, load_der_x509_certificate, load_pem_x509_certificate

from postroad.core.codecs.as2 import (  # fmt: skip
    PROCESSED,
    As2Identity,
    Disposition,
    Mdn,
    OpenedMessage,
    PartnershipTerms,
    error,
    is_mdn,
    open_message,
    read_heading,
    read_mdn,
    read_names,
)
from postroad.core.codecs.cms import Identity
from postroad.core.codecs.mime import read_entity, read_multipart
from postroad.errors import Refused

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "as2"
ANYTHING = PartnershipTerms(must_be_signed=False)
Fields = list[tuple[str, str]]

pytestmark = [
    pytest.mark.skipif(
        not FIXTURES.is_dir(),
        reason="needs the collection of real AS2 messages in ../shared/fixtures, which is not there",
    ),
    # Some of these certificates are older than the rules that are now kept.
    pytest.mark.filterwarnings("ignore::cryptography.utils.CryptographyDeprecationWarning"),
]


@cache
def identity() -> Identity:
    key = load_der_private_key((FIXTURES / "pyas2-lib" / "cert_test.key.der").read_bytes(), None)
    assert isinstance(key, RSAPrivateKey)
    return Identity(certificate=certificate("pyas2-lib/cert_test_public.pem"), key=key)


def certificate(path: str) -> Certificate:
    return load_pem_x509_certificate((FIXTURES / path).read_bytes())


def captured(path: str) -> tuple[Fields, bytes]:
    """Headers and body of one file. A line that a log wrote between OpenAS2's headers is left out."""
    entity = read_entity((FIXTURES / path).read_bytes().replace(b"Server ph-OpenAS2 v1.0 is not blacklisted\n", b""))
    return list(entity.headers()), bytes(entity.body)


def kept_apart(name: str) -> tuple[Fields, bytes]:
    """Headers and body of two files; as2-lib writes some of the headers in quotation marks."""
    lines = [line.partition(":") for line in (FIXTURES / f"as2-lib/{name}.header").read_text().splitlines() if line]
    headers = [(key, value.strip().strip('"').replace('\\"', '"')) for key, _, value in lines]
    return headers, (FIXTURES / f"as2-lib/{name}.payload").read_bytes()


def included(headers: Fields, body: bytes) -> tuple[Certificate, ...]:
    """The certificates that the signature brings along, found by another library."""
    content_type = next(value for name, value in headers if name.lower() == "content-type")
    signature = bytes(read_multipart(content_type, body).parts[1].data())
    found = ContentInfo.load(signature)["content"]["certificates"]
    return tuple(load_der_x509_certificate(one.chosen.dump()) for one in found)


def opened(headers: Fields, body: bytes, *certificates: Certificate) -> OpenedMessage:
    sender, recipient = read_names(headers)
    own = As2Identity(name=recipient, identities=(identity(),))
    return open_message(headers, body, own, As2Identity(name=sender, certificates=certificates), ANYTHING)


# ---- messages --------------------------------------------------------------------------------------------------------


@pytest.mark.req("T7", "K3")
@pytest.mark.parametrize(
    ("name", "layers"),
    [("compressed", ("signed", "compressed")), ("encrypted", ("encrypted",)), ("signed", ("signed",))],
)
def test_mendelson(name: str, layers: tuple[str, ...]) -> None:
    found = opened(*captured(f"pyas2-lib/mecas2_{name}.as2"), certificate("pyas2-lib/cert_mecas2_public.pem"))
    assert found.layers == layers
    assert bytes(found.entity.body) == (FIXTURES / "pyas2-lib" / "payload.txt").read_bytes()
    assert found.mic.algorithm == ("sha1" if name == "encrypted" else "sha256")
    assert (found.entity.head == b"") == (name == "encrypted")


BOUNCY_CASTLE = {
    "bc_comp_then_signed": ("signed", "compressed"),
    "bc_compressed": ("compressed",),
    "bc_enc_3des": ("encrypted",),
    "bc_enc_aes128gcm": ("encrypted",),
    "bc_enc_aes256cbc": ("encrypted",),
    "bc_signed_comp_enc_aes256": ("encrypted", "compressed", "signed"),
    "bc_signed_sha256": ("signed",),
    "bc_signed_then_comp": ("compressed", "signed"),
}


@pytest.mark.req("T7", "K3")
@pytest.mark.parametrize("name", BOUNCY_CASTLE)
def test_bouncy_castle(name: str) -> None:
    found = opened(*captured(f"bouncycastle-generated/{name}.as2"), identity().certificate)
    assert found.layers == BOUNCY_CASTLE[name]
    assert found.entity.headers() == (
        ("Content-Type", "application/edi-x12"),
        ("Content-Transfer-Encoding", "binary"),
    )
    body = bytes(found.entity.body)
    assert (len(body), body[:4]) == (1027, b"ISA*")
    if name != "bc_comp_then_signed":  # there, the compressed document is what was signed
        assert found.mic.digest == sha256(found.entity.raw).digest()


def test_every_file_of_bouncy_castle_is_tried() -> None:
    assert sorted(path.stem for path in (FIXTURES / "bouncycastle-generated").glob("*.as2")) == sorted(BOUNCY_CASTLE)


@pytest.mark.req("T7", "K3")
@pytest.mark.parametrize(("name", "size"), [("oxalis-sha1", 7557), ("some", 4685)])
def test_oxalis_and_peppol_messages_verify_with_the_line_ends_they_lost(name: str, size: int) -> None:
    headers, body = captured(f"oxalis/{name}.txt")
    headers += [("AS2-From", "APP_1"), ("AS2-To", "APP_2"), ("Message-ID", "<kept elsewhere>")]
    found = opened(
        [field for n, field in enumerate(headers) if field[0] not in dict(headers[:n])], body, *included(headers, body)
    )
    assert (found.layers, found.mic.algorithm, len(found.entity.data())) == (("signed",), "sha1", size)
    assert bytes(found.entity.data()[:5]) == b"<?xml"


def test_oxalis_asks_for_a_signed_receipt() -> None:
    lines = (FIXTURES / "oxalis" / "sample-as2-post-headers.txt").read_text().splitlines()
    heading = read_heading([(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)])
    assert (heading.sender, heading.recipient) == ("APP_1000000135", "peppol-APP_1000000006")
    assert heading.message_id == "8c096de8-ec58-4dc6-a9c4-6c465b2c83c5"
    assert (heading.wish.signed, heading.wish.digests, heading.wish.url) == (True, ("sha1",), "")


def test_a_real_message_for_somebody_else_is_refused() -> None:
    headers, body = captured("pyas2-lib/mecas2_signed.as2")
    with pytest.raises(Refused) as refused:
        opened(headers, body, certificate("pyas2-lib/cert_oldpyas2_public.pem"))
    assert refused.value.code == "as2.authentication-failed"


# ---- receipts --------------------------------------------------------------------------------------------------------


class Expected(NamedTuple):
    signature: str
    message_id: str
    disposition: Disposition = PROCESSED
    algorithm: str = "sha1"  # of the MIC; "" for none


UNREADABLE = "Unable to create directory /var/lib/peppol/oxalis/inbound/0088_5013546205032/9908_810017902"
RECEIPTS = {
    "pyas2-lib/mecas2_unsigned.mdn": Expected(
        "none", "<20161230102316.10728.85252@imac.local>", error("authentication-failed"), ""
    ),
    "pyas2-lib/sb2bi_signed.mdn": Expected(
        "valid", "<151694007918.24690.7052273208458909245@ip-172-31-14-209.ec2.internal>"
    ),
    "oxalis/difi-negative-mdn.txt": Expected("valid", "6ced0160-bbb7-4294-a68a-fab7481da936", error(UNREADABLE), ""),
    "oxalis/unimaze-mdn.txt": Expected("valid", "477b2b62-675d-4122-8e59-b24626d4c375"),
    "oxalis/unit4-mdn.txt": Expected("valid", "437a76b5-0a91-470d-87eb-1b4f1e125d86"),
    "oxalis/unit4-mdn-error.txt": Expected("invalid", "437a76b5-0a91-470d-87eb-1b4f1e125d86"),
    "oxalis/ibx-mdn-base64.txt": Expected("invalid", "19a9099c-c553-4ffa-9c60-de2fcfa2922f"),
    "oxalis/mime-message.txt": Expected("invalid", "1ae02c7f-825c-4d15-bed6-84d3410b4654"),
    "oxalis/openas2-mdn.txt": Expected("invalid", "42"),
    "issue97": Expected(
        "invalid",
        "<mftas2_07102019213832125_ctm_mft_ctm_mft_dedc08b2181a4553a0996dc5eb258615_mfttest_0>",
    ),
    "20190925-david": Expected(
        "invalid", "<54a4867b-77ff-4edd-9fdb-a1e8e5b63860@1569357558959>", error("unexpected-processing-error")
    ),
    "4af6f84c-d882-4466-8e0c-305a7fbe37b3": Expected(
        "invalid", "4af6f84c-d882-4466-8e0c-305a7fbe37b3@QVALIA-PSE000094"
    ),
}
WITHOUT_CERTIFICATE = ("mecas2_unsigned", "openas2-mdn", "4af6f84c")  # unsigned; not included; too damaged to look into


def certificates_for(name: str, headers: Fields, body: bytes) -> tuple[Certificate, ...]:
    if name == "pyas2-lib/sb2bi_signed.mdn":
        return (certificate("pyas2-lib/cert_sb2bi_public.pem"),)
    return () if any(part in name for part in WITHOUT_CERTIFICATE) else included(headers, body)


def received(name: str) -> Mdn:
    headers, body = captured(name) if "/" in name else kept_apart(name)
    assert is_mdn(headers, body)
    return read_mdn(headers, body, As2Identity(name="partner", certificates=certificates_for(name, headers, body)))


@pytest.mark.req("T7", "K3")
@pytest.mark.parametrize("name", RECEIPTS)
def test_receipts_of_other_products(name: str) -> None:
    mdn, expected = received(name), RECEIPTS[name]
    assert mdn.signature == expected.signature
    assert mdn.original_message_id == expected.message_id
    assert mdn.disposition == expected.disposition
    assert (mdn.mic.algorithm if mdn.mic else "") == expected.algorithm


def test_a_receipt_that_lost_its_headers_is_none() -> None:
    assert not is_mdn([], (FIXTURES / "oxalis" / "openas2-mdn-no-headers.txt").read_bytes())
