"""The ``openssl`` program as the partner: it verifies what we sign, decrypts what we encrypt, and the other way round."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from postroad.core.codecs.as2 import (
    PROCESSED,
    BuiltMdn,
    BuiltMessage,
    PartnershipTerms,
    build_mdn,
    open_message,
    read_heading,
)
from postroad.core.codecs.cms import Identity
from postroad.core.codecs.mime import read_entity, read_multipart, write_head
from tests.samples.as2_parties import DOCUMENT, HEAD, MDN_ID, NOW, buyer, message, seen, seller
from tests.samples.cms_people import clerk, partner, stranger

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="needs the openssl program, which is not installed"
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Keys and certificates of both sides."""
    for name, identity in (("clerk", clerk()), ("partner", partner()), ("stranger", stranger())):
        write_pem(tmp_path / name, identity)
    return tmp_path


def write_pem(path: Path, identity: Identity) -> None:
    path.with_suffix(".pem").write_bytes(identity.certificate.public_bytes(Encoding.PEM))
    path.with_suffix(".key").write_bytes(identity.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def openssl(folder: Path, content: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["openssl", "cms", *arguments], input=content, capture_output=True, cwd=folder, check=False)


def smime(made: BuiltMessage | BuiltMdn) -> bytes:
    return write_head(made.headers) + b"\r\n" + made.body


VERIFY = ("-verify", "-noverify", "-nointern")  # only with the certificate that is given, which nobody vouches for
TEXT = b"ISA*00*~\r\nIEA*1*1~\r\n"


@pytest.mark.req("T7", "K3")
@pytest.mark.parametrize("pss", [False, True])
@pytest.mark.parametrize("digest", ["sha1", "sha256", "sha384", "sha512"])
def test_openssl_verifies_what_we_sign(files: Path, digest: str, pss: bool) -> None:
    built = message(PartnershipTerms(sign=digest, encrypt="", pss=pss))
    signed, signature = read_multipart(dict(built.headers)["Content-Type"], built.body).parts
    (files / "signed").write_bytes(signed.raw)
    arguments = (*VERIFY, "-binary", "-inform", "DER", "-content", "signed", "-certfile")
    verified = openssl(files, bytes(signature.data()), *arguments, "clerk.pem")
    assert (verified.returncode, verified.stdout) == (0, HEAD + b"\r\n" + DOCUMENT), verified.stderr
    assert openssl(files, bytes(signature.data()), *arguments, "stranger.pem").returncode != 0


@pytest.mark.req("T7", "K3")
def test_openssl_takes_our_message_as_a_whole(files: Path) -> None:
    """As S/MIME it reads text only, and takes the CR before a boundary for content otherwise."""
    built = message(PartnershipTerms(encrypt=""), TEXT)
    verified = openssl(files, smime(built), *VERIFY, "-inform", "SMIME", "-certfile", "clerk.pem")
    assert (verified.returncode, verified.stdout) == (0, HEAD + b"\r\n" + TEXT), verified.stderr


@pytest.mark.req("T7", "K3")
def test_openssl_verifies_our_receipts(files: Path) -> None:
    built = message(PartnershipTerms())
    mdn = build_mdn(
        read_heading(built.headers), seller(), disposition=PROCESSED, mic=built.sent.mic, at=NOW, message_id=MDN_ID,
        boundary_seed=b"",
    )  # fmt: skip
    verified = openssl(files, smime(mdn), *VERIFY, "-inform", "SMIME", "-certfile", "partner.pem")
    assert verified.returncode == 0, verified.stderr
    assert b"Disposition: automatic-action/MDN-sent-automatically; processed\r\n" in verified.stdout


@pytest.mark.req("T7", "K3")
@pytest.mark.parametrize("oaep", [False, True])
@pytest.mark.parametrize("cipher", ["aes128-cbc", "aes192-cbc", "aes256-cbc", "aes256-gcm"])
def test_openssl_decrypts_what_we_encrypt(files: Path, cipher: str, oaep: bool) -> None:
    built = message(PartnershipTerms(sign="", encrypt=cipher, oaep=oaep))
    arguments = ("-decrypt", "-binary", "-inform", "DER", "-recip", "partner.pem", "-inkey", "partner.key")
    decrypted = openssl(files, built.body, *arguments)
    assert (decrypted.returncode, decrypted.stdout) == (0, HEAD + b"\r\n" + DOCUMENT), decrypted.stderr


@pytest.mark.req("T7", "K3")
@pytest.mark.parametrize("cipher", ["-des3", "-aes-128-cbc", "-aes-256-cbc"])
def test_we_open_what_openssl_signs_and_encrypts(files: Path, cipher: str) -> None:
    signing = ("-sign", "-binary", "-md", "sha256", "-signer", "clerk.pem", "-inkey", "clerk.key", "-outform", "SMIME")
    signed = openssl(files, HEAD + b"\r\n" + DOCUMENT, *signing)
    encrypted = openssl(files, signed.stdout, "-encrypt", "-binary", cipher, "-outform", "DER", "partner.pem")
    assert (signed.returncode, encrypted.returncode) == (0, 0), signed.stderr + encrypted.stderr
    built = message(PartnershipTerms())
    opened = open_message(built.headers, encrypted.stdout, seller(), seen(buyer()), PartnershipTerms())
    assert opened.layers == ("encrypted", "signed")
    assert bytes(opened.entity.raw) == HEAD + b"\r\n" + DOCUMENT


def test_we_open_what_openssl_signs_in_one_piece(files: Path) -> None:
    signing = ("-sign", "-binary", "-nodetach", "-signer", "clerk.pem", "-inkey", "clerk.key", "-outform", "SMIME")
    signed = openssl(files, HEAD + b"\r\n" + DOCUMENT, *signing)
    built, entity = message(PartnershipTerms()), read_entity(signed.stdout)
    headers = [field for field in built.headers if not field[0].startswith("Content-")]
    opened = open_message(
        [*headers, *entity.headers()], bytes(entity.body), seller(), seen(buyer()), PartnershipTerms()
    )
    assert (opened.layers, bytes(opened.entity.body)) == (("signed",), DOCUMENT)
