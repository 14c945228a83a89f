"""OpenSSL and we read each other's CMS messages, in every algorithm that both know.

OpenSSL's own program is the judge; where it is not installed the tests say so. Compression is not tried, because OpenSSL is
mostly built without it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs7

from postroad.core.codecs.cms import Identity, content_kind, decrypt, encrypt, sign, verify
from postroad.errors import Refused
from tests.samples.cms_people import CONTENT, SIGNED_AT, clerk, notary, partner, stranger

OPENSSL = shutil.which("openssl")
pytestmark = [
    pytest.mark.req("T7"),
    pytest.mark.skipif(OPENSSL is None, reason="needs the openssl program, which is not installed"),
]
LARGE = bytes(range(256)) * 1000
payloads = pytest.mark.parametrize("content", [b"x", LARGE], ids=len)  # OpenSSL streams no empty content


class Desk:
    """A folder in which OpenSSL works."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, one in (("clerk", clerk()), ("partner", partner()), ("notary", notary())):
            self.put(f"{name}.pem", one.certificate.public_bytes(Encoding.PEM))
            self.put(f"{name}.key", one.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    def put(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    def openssl(self, *arguments: str) -> bytes:
        """What ``openssl cms`` writes about the file ``content`` or ``message``."""
        command = [OPENSSL or "", "cms", "-binary", "-out", "out", *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
        return (self.folder / "out").read_bytes()

    def made(self, content: bytes, *arguments: str) -> bytes:
        self.put("content", content)
        return self.openssl("-in", "content", "-outform", "DER", *arguments)

    def read(self, message: bytes, *arguments: str) -> bytes:
        self.put("message", message)
        return self.openssl("-in", "message", "-inform", "DER", *arguments)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("openssl"))


@pytest.mark.parametrize("digest", ["sha1", "sha256", "sha384", "sha512"])
@pytest.mark.parametrize("detached", [True, False])
@pytest.mark.parametrize(
    ("name", "signer", "pss"), [("clerk", clerk, False), ("clerk", clerk, True), ("notary", notary, False)]
)
def test_openssl_verifies_what_we_sign(
    desk: Desk, name: str, signer: Callable[[], Identity], pss: bool, detached: bool, digest: str
) -> None:
    signed = sign([CONTENT], [signer()], digest=digest, detached=detached, signed_at=SIGNED_AT, pss=pss)
    desk.put("content", CONTENT)
    beside = ["-content", "content"] if detached else []
    assert desk.read(signed, "-verify", "-CAfile", f"{name}.pem", "-purpose", "any", *beside) == CONTENT


def test_openssl_verifies_two_signers_at_once(desk: Desk) -> None:
    desk.put("all.pem", b"".join((desk.folder / f"{name}.pem").read_bytes() for name in ("clerk", "notary")))
    signed = sign([CONTENT], [clerk(), notary()], detached=False, signed_at=SIGNED_AT)
    assert desk.read(signed, "-verify", "-CAfile", "all.pem", "-purpose", "any") == CONTENT


@payloads
@pytest.mark.parametrize(
    "options",
    [
        "-md sha256",
        "-md sha512 -nodetach",
        "-md sha1 -noattr",
        "-md sha384 -keyid",
        "-nodetach -stream",
        "-nodetach -indef -noattr -keyid",
        "-nocerts -nosmimecap",
        "-keyopt rsa_padding_mode:pss",
        "-keyopt rsa_padding_mode:pss -keyopt rsa_pss_saltlen:20 -md sha512",
    ],
)
def test_we_verify_what_openssl_signs(desk: Desk, options: str, content: bytes) -> None:
    signed = desk.made(content, "-sign", "-signer", "clerk.pem", "-inkey", "clerk.key", *options.split())
    inside = "-nodetach" in options
    found = verify(signed, None if inside else [content], [clerk().certificate])
    assert found.signers == (clerk().certificate,)
    assert found.content == (content if inside else None)
    with pytest.raises(Refused, match=r"cms\.signature-invalid"):
        verify(signed, None if inside else [content], [stranger().certificate])
    with pytest.raises(Refused, match=r"cms\.signature-invalid"):
        verify(signed, [content + b"!"], [clerk().certificate])


def test_we_verify_two_signers_of_openssl(desk: Desk) -> None:
    signers = ["-signer", "clerk.pem", "-inkey", "clerk.key", "-signer", "notary.pem", "-inkey", "notary.key"]
    signed = desk.made(CONTENT, "-sign", *signers)
    trusted = {clerk().certificate, notary().certificate}
    assert set(verify(signed, [CONTENT], list(trusted)).signers) == trusted


@pytest.mark.parametrize("content", [b"", LARGE], ids=len)
@pytest.mark.parametrize("oaep", [False, True])
@pytest.mark.parametrize("cipher", ["aes128-cbc", "aes192-cbc", "aes256-cbc", "aes128-gcm", "aes256-gcm"])
def test_openssl_decrypts_what_we_encrypt(desk: Desk, cipher: str, oaep: bool, content: bytes) -> None:
    recipients = [clerk().certificate, partner().certificate]
    message = encrypt(content, recipients, cipher=cipher, oaep=oaep, randomness=os.urandom)
    for name in ("clerk", "partner"):
        assert desk.read(message, "-decrypt", "-recip", f"{name}.pem", "-inkey", f"{name}.key") == content


@pytest.mark.parametrize("cipher", ["-aes128", "-aes192", "-aes256", "-des3", "-aes-128-gcm", "-aes-256-gcm"])
@pytest.mark.parametrize(
    "options",
    [
        "",
        "-stream",
        "-keyid",
        "-keyopt rsa_padding_mode:oaep",
        "-keyopt rsa_padding_mode:oaep -keyopt rsa_oaep_md:sha256",
        "-keyopt rsa_padding_mode:oaep -keyopt rsa_oaep_md:sha256 -keyopt rsa_mgf1_md:sha512",
        "-keyopt rsa_padding_mode:oaep -keyopt rsa_oaep_label:6c6162656c",
    ],
)
def test_we_decrypt_what_openssl_encrypts(desk: Desk, options: str, cipher: str) -> None:
    message = desk.made(CONTENT, "-encrypt", cipher, "-recip", "clerk.pem", *options.split())
    assert content_kind(message) == ("auth-enveloped" if "gcm" in cipher else "enveloped")
    assert decrypt(message, [partner(), clerk()]) == CONTENT
    with pytest.raises(Refused, match=r"cms\.decryption-failed"):
        decrypt(message, [stranger()])


@payloads
@pytest.mark.parametrize("options", ["-aes256", "-aes256 -stream", "-aes-256-gcm -stream"])
def test_we_decrypt_content_of_any_size(desk: Desk, options: str, content: bytes) -> None:
    assert decrypt(desk.made(content, "-encrypt", "-recip", "clerk.pem", *options.split()), [clerk()]) == content


def test_we_find_our_place_among_several_recipients(desk: Desk) -> None:
    message = desk.made(
        CONTENT, "-encrypt", "-aes256", "-recip", "partner.pem", "-recip", "notary.pem", "-recip", "clerk.pem"
    )
    assert decrypt(message, [clerk()]) == decrypt(message, [partner()]) == CONTENT


def test_the_library_below_us_reads_and_writes_the_same() -> None:
    """Its own messages are strict DER in one cipher; so are ours, when asked for that cipher."""
    theirs = pkcs7.PKCS7EnvelopeBuilder().set_data(CONTENT).add_recipient(clerk().certificate)
    assert decrypt(theirs.encrypt(Encoding.DER, [pkcs7.PKCS7Options.Binary]), [clerk()]) == CONTENT
    ours = encrypt(CONTENT, [clerk().certificate], cipher="aes128-cbc", randomness=os.urandom)
    key = clerk().key
    assert isinstance(key, RSAPrivateKey)
    assert pkcs7.pkcs7_decrypt_der(ours, clerk().certificate, key, []) == CONTENT
