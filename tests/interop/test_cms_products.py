"""CMS messages that other products sent: BouncyCastle, mendelson, IBM Sterling, Oxalis and those that Oxalis met.

The collection lies beside the repository in ``../shared/fixtures/as2``; without it there is nothing to try, and the tests say so.
Only the CMS layer is tried here: the MIME around it is taken apart with a few lines, in which line ends can be set right, because
some of the files lost theirs when they were stored.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key

from postroad.core.codecs.cms import Identity, VerifiedSignature, content_kind, decompress, decrypt, verify
from postroad.core.codecs.cms.ber import read
from postroad.core.codecs.cms.der import context_tag
from postroad.errors import Refused

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "as2"
pytestmark = [
    pytest.mark.req("T7"),
    pytest.mark.skipif(
        not FIXTURES.is_dir(), reason="needs the collection in ../shared/fixtures/as2, which is not there"
    ),
]
_BOUNDARY = re.compile(
    rb"""multipart/signed(?:[^\n]|\n[ \t])*?boundary\s*=[\s"\\]*([^"\\\r\n;]+)["\\]*""", re.IGNORECASE
)
_EMPTY_LINE = re.compile(rb"\r?\n\r?\n")


def as_it_stands(entity: bytes) -> bytes:
    return entity


def with_head_in_crlf(entity: bytes) -> bytes:
    line = _EMPTY_LINE.search(entity)
    assert line
    return in_crlf(entity[: line.end()]) + entity[line.end() :]


def in_crlf(entity: bytes) -> bytes:
    return re.sub(rb"\r?\n", b"\r\n", entity)


def whole(name: str) -> bytes:
    """A file, behind its header lines where those are kept in a file of their own."""
    path = FIXTURES / name
    head = path.with_suffix(".header")
    return (head.read_bytes().rstrip() + b"\r\n\r\n" if path.suffix == ".payload" else b"") + path.read_bytes()


def body(message: bytes) -> bytes:
    line = _EMPTY_LINE.search(message)
    assert line
    return message[line.end() :]


def signed_parts(message: bytes) -> tuple[bytes, bytes]:
    """The signed entity of a multipart/signed, and the signature in DER."""
    boundary = _BOUNDARY.search(message)
    assert boundary
    delimiter = re.compile(rb"(?:\A|\r?\n)--" + re.escape(boundary.group(1)) + rb"(?:--)?[ \t]*(?:\r?\n|\Z)")
    _, content, signature = delimiter.split(message[boundary.end() :])[:3]
    head = signature[: len(signature) - len(body(signature))].lower()
    return content, b64decode(body(signature)) if b"base64" in head else body(signature)


def certificates_in(signed: bytes) -> list[x509.Certificate]:
    found = [child for child in read(signed).children()[1].only_child().children() if child.tag == context_tag(0)]
    return [x509.load_der_x509_certificate(bytes(one.raw())) for holder in found for one in holder.children()]


def verified(name: str, form: Callable[[bytes], bytes]) -> VerifiedSignature:
    """Verified as if the certificates that came along had been registered."""
    content, signature = signed_parts(whole(name))
    return verify(signature, [form(content)], certificates_in(signature))


@pytest.fixture(scope="module")
def station() -> Identity:
    """For whom the encrypted ones were made."""
    key = load_der_private_key((FIXTURES / "pyas2-lib/cert_test.key.der").read_bytes(), None)
    assert isinstance(key, RSAPrivateKey)
    certificate = x509.load_pem_x509_certificate((FIXTURES / "pyas2-lib/cert_test_public.pem").read_bytes())
    return Identity(certificate=certificate, key=key)


@pytest.mark.parametrize(
    ("name", "digest", "form"),
    [
        ("pyas2-lib/mecas2_compressed.as2", "sha256", as_it_stands),
        ("pyas2-lib/mecas2_signed.as2", "sha256", with_head_in_crlf),
        ("pyas2-lib/sb2bi_signed.mdn", "sha1", as_it_stands),
        ("oxalis/difi-negative-mdn.txt", "sha1", in_crlf),
        ("oxalis/unimaze-mdn.txt", "sha1", in_crlf),
        ("oxalis/unit4-mdn.txt", "sha1", in_crlf),
        ("oxalis/some.txt", "sha1", in_crlf),
        ("oxalis/oxalis-sha1.txt", "sha1", with_head_in_crlf),
        ("bouncycastle-generated/bc_signed_sha256.as2", "sha256", as_it_stands),
        ("bouncycastle-generated/bc_comp_then_signed.as2", "sha256", as_it_stands),
    ],
)
def test_signatures_of_other_products_hold(name: str, digest: str, form: Callable[[bytes], bytes]) -> None:
    found = verified(name, form)
    assert (len(found.signers), found.digest) == (1, digest)
    content, signature = signed_parts(whole(name))
    with pytest.raises(Refused, match=r"cms\.signature-invalid"):
        verify(signature, [form(content) + b" "], found.signers)


@pytest.mark.parametrize(
    "name",
    [
        "as2-lib/issue97.payload",
        "as2-lib/20190925-david.payload",
        "oxalis/ibx-mdn-base64.txt",
        "oxalis/mime-message.txt",
        "oxalis/unit4-mdn-error.txt",
    ],
)
@pytest.mark.parametrize("form", [as_it_stands, with_head_in_crlf, in_crlf])
def test_content_that_was_changed_on_the_way_is_seen(name: str, form: Callable[[bytes], bytes]) -> None:
    with pytest.raises(Refused) as caught:
        verified(name, form)
    assert (caught.value.code, caught.value.pointer) == ("cms.signature-invalid", "/content")


def test_a_damaged_signature_is_refused() -> None:
    name = next(FIXTURES.glob("as2-lib/4af6f84c-*.payload")).relative_to(FIXTURES).as_posix()
    content, signature = signed_parts(whole(name))
    with pytest.raises(Refused, match=r"cms\.malformed"):
        verify(signature, [content], [])


def test_a_signature_that_brings_no_certificate_needs_a_registered_one() -> None:
    _, signature = signed_parts(whole("oxalis/openas2-mdn.txt"))
    assert certificates_in(signature) == []
    with pytest.raises(Refused, match="register") as caught:
        verified("oxalis/openas2-mdn.txt", in_crlf)
    assert caught.value.pointer == "/signers"


def payload() -> bytes:
    """What BouncyCastle was given, as it stands in the message that is only signed."""
    found = body(signed_parts(whole("bouncycastle-generated/bc_signed_sha256.as2"))[0])
    assert (len(found), found[:3]) == (1027, b"ISA")
    return found


@pytest.mark.parametrize("cipher", ["3des", "aes128gcm", "aes256cbc"])
def test_messages_that_bouncycastle_encrypted_are_read(cipher: str, station: Identity) -> None:
    content = decrypt(body(whole(f"bouncycastle-generated/bc_enc_{cipher}.as2")), [station])
    assert body(content) == payload()


def test_three_layers_of_bouncycastle_are_peeled(station: Identity) -> None:
    inside = decrypt(body(whole("bouncycastle-generated/bc_signed_comp_enc_aes256.as2")), [station])
    unpacked = decompress(body(inside))
    content, signature = signed_parts(unpacked)
    assert verify(signature, [content], certificates_in(signature)).digest == "sha256"
    assert body(content) == payload()


@pytest.mark.parametrize("name", ["bc_compressed.as2", "bc_signed_then_comp.as2"])
def test_content_that_bouncycastle_compressed_is_unpacked(name: str) -> None:
    message = body(whole(f"bouncycastle-generated/{name}"))
    assert content_kind(message) == "compressed"
    assert payload() in decompress(message)


def test_content_that_bouncycastle_compressed_and_signed_is_unpacked() -> None:
    content, _ = signed_parts(whole("bouncycastle-generated/bc_comp_then_signed.as2"))
    assert payload() in decompress(body(content))


def test_messages_of_mendelson_are_read(station: Identity) -> None:
    expected = (FIXTURES / "pyas2-lib/payload.txt").read_bytes()
    assert decrypt(body(whole("pyas2-lib/mecas2_encrypted.as2")), [station]) == expected  # it puts no MIME head inside
    content, _ = signed_parts(whole("pyas2-lib/mecas2_compressed.as2"))
    packed = body(content)
    unpacked = decompress(b64decode(packed) if b"base64" in content[:300].lower() else packed)
    assert len(unpacked) == 751
    assert body(unpacked) == expected
