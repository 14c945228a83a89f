"""Encrypted messages: read by those they are for, and by nobody else; who is not learns nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest
from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import Identity, content_kind, decrypt, encrypt, oids
from postroad.core.codecs.cms.certificates import marks_of
from postroad.core.codecs.cms.ciphers import CIPHERS
from postroad.core.codecs.cms.content import wrap_content
from postroad.core.codecs.cms.der import NULL, OCTET_STRING, SET, context_tag, element, sequence, small_integer
from postroad.core.codecs.cms.enveloped_data import Padding
from postroad.errors import Refused
from tests.samples.cms_people import CONTENT, clerk, identity, notary, partner, stranger
from tests.samples.crafted_cms import as_ber, attribute

pytestmark = pytest.mark.req("T7")
KEY, VECTOR, NONCE = bytes(range(32)), bytes(range(16)), bytes(range(12))
PKCS1 = sequence(oids.RSA, element(NULL))
GCM = sequence(oids.AES256_GCM, sequence(element(OCTET_STRING, NONCE), small_integer(16)))
CBC = sequence(oids.AES256_CBC, element(OCTET_STRING, VECTOR))
OAEP_SHA1 = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
ciphers = pytest.mark.parametrize("cipher", CIPHERS)
oaep = pytest.mark.parametrize("oaep", [False, True])


def refusal(message: bytes, *identities: Identity) -> Refused:
    with pytest.raises(Refused) as caught:
        decrypt(message, identities or (clerk(),))
    return caught.value


def wrapped(
    key: bytes = KEY,
    reader: Identity | None = None,
    *,
    mark: bytes = b"",
    way: bytes = PKCS1,
    by: Padding | None = None,
) -> bytes:
    """A recipient, the clerk unless another is named, with the key wrapped as it is said to be or otherwise."""
    reader = reader or clerk()
    public = reader.certificate.public_key()
    assert isinstance(public, rsa.RSAPublicKey)
    octets = public.encrypt(key, by or padding.PKCS1v15())
    return sequence(
        small_integer(2 if mark else 0),
        mark or marks_of(reader.certificate).issuer_and_serial,
        way,
        element(OCTET_STRING, octets),
    )


def enveloped(
    encrypted: bytes,
    cipher: bytes,
    recipients: Sequence[bytes] = (),
    *,
    behind: bytes = b"",
    content_type: bytes = oids.ENVELOPED_DATA,
) -> bytes:
    inside = sequence(oids.DATA, cipher, element(context_tag(0, constructed=False), encrypted))
    return wrap_content(content_type, [small_integer(0), element(SET, *(recipients or (wrapped(),))), inside, behind])


def cbc(content: bytes, key: bytes = KEY) -> bytes:
    machine = Cipher(algorithms.AES(key), modes.CBC(VECTOR)).encryptor()
    return machine.update(content) + machine.finalize()


def padded(content: bytes, block: int = 16) -> bytes:
    count = block - len(content) % block
    return content + bytes((count,)) * count


def gcm(content: bytes, also: bytes = b"") -> tuple[bytes, bytes]:
    machine = Cipher(algorithms.AES(KEY), modes.GCM(NONCE)).encryptor()
    machine.authenticate_additional_data(also)
    return machine.update(content) + machine.finalize(), machine.tag


@ciphers
@oaep
@pytest.mark.parametrize("content", [b"", b"x" * 15, b"x" * 16, CONTENT, bytes(100_000)], ids=len)
def test_what_is_encrypted_can_be_read_by_its_recipient(cipher: str, oaep: bool, content: bytes) -> None:
    pieces: list[Buffer] = [content[:7], memoryview(content)[7:]]
    message = encrypt(pieces, [clerk().certificate], cipher=cipher, oaep=oaep, randomness=os.urandom)
    assert decrypt(message, [clerk()]) == content
    assert decrypt(as_ber(message, 999), [clerk()]) == content
    assert content_kind(message) == ("auth-enveloped" if cipher.endswith("gcm") else "enveloped")


def test_content_may_be_given_in_one() -> None:
    assert decrypt(encrypt(CONTENT, [clerk().certificate], randomness=os.urandom), [clerk()]) == CONTENT


@oaep
def test_every_recipient_reads_it_and_nobody_else(oaep: bool) -> None:
    certificates = [clerk().certificate, partner().certificate]
    message = encrypt(CONTENT, certificates, oaep=oaep, randomness=os.urandom)
    assert decrypt(message, [clerk()]) == decrypt(message, [partner()]) == CONTENT
    assert refusal(message, stranger()).code == "cms.decryption-failed"


def test_an_older_identity_still_decrypts_during_a_roll_over() -> None:
    message = encrypt(CONTENT, [clerk().certificate], randomness=os.urandom)
    newest = partner()
    assert decrypt(message, [newest, notary(), clerk()]) == CONTENT


def test_a_renewed_certificate_with_the_same_key_is_another_name_for_it() -> None:
    renewed = identity("Clerk", clerk().key, serial=8)
    mark = element(context_tag(0, constructed=False), marks_of(clerk().certificate).key_identifier)
    message = enveloped(cbc(padded(CONTENT)), CBC, [wrapped(mark=mark)])
    assert decrypt(message, [renewed]) == CONTENT


def test_the_second_identity_is_tried_when_the_first_does_not_open_it() -> None:
    """Two identities whose certificates carry the same name: the message cannot say which of them is meant."""
    twin = identity("Clerk", stranger().key, serial=7)
    message = encrypt(CONTENT, [clerk().certificate], cipher="aes256-gcm", randomness=os.urandom)
    assert decrypt(message, [clerk(), twin]) == decrypt(message, [twin, clerk()]) == CONTENT


def test_the_words_are_the_same_whatever_is_wrong_once_a_key_is_used() -> None:
    good, sealed = cbc(padded(CONTENT)), b"".join(gcm(CONTENT))
    tries = [
        enveloped(good, CBC, [wrapped(b"k" * 32)]),  # another key
        # The key that replaces one which cannot be unwrapped is another each time; under one in 256 of them CBC
        # would seem to be padded rightly, so these are sealed.
        enveloped(sealed, GCM, [wrapped(b"k" * 16)]),  # a key of another length
        enveloped(sealed, GCM, [wrapped(by=OAEP_SHA1)]),  # padded in another way than it says
        enveloped(good[:-16], CBC),  # cut
        enveloped(good[:-1], CBC),
        enveloped(b"", CBC),
        enveloped(cbc(b"x" * 15 + b"\0"), CBC),  # padded with nothing
        enveloped(cbc(b"x" * 15 + b"\x11"), CBC),  # with more than a block
        enveloped(cbc(b"x" * 14 + b"\1\2"), CBC),  # unevenly
        enveloped(bytes(100), GCM),
    ]
    assert {str(refusal(message)) for message in tries} == {str(refusal(tries[0]))}
    assert refusal(tries[0]).code == "cms.decryption-failed"


def test_a_key_that_cannot_be_unwrapped_costs_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The content is decrypted with a key that nobody knows, so time does not tell whether the key was unwrapped."""
    used: list[bytes] = []

    def recorded(algorithm: Any, mode: Any) -> Cipher[Any]:
        used.append(algorithm.key)
        return Cipher(algorithm, mode)

    monkeypatch.setattr("postroad.core.codecs.cms.ciphers.Machine", recorded)
    message = enveloped(b"".join(gcm(CONTENT)), GCM, [wrapped(b"short")])
    refusals = {str(refusal(message)), str(refusal(message))}
    assert len(refusals) == 1
    assert used[0] == used[1] != KEY  # the same at every try, so that repeating it tells nothing either
    assert len(used[0]) == 32


def test_every_changed_byte_of_authenticated_content_is_seen() -> None:
    message = encrypt(CONTENT, [clerk().certificate], cipher="aes128-gcm", randomness=os.urandom)
    tail = len(CONTENT) + 20
    for place in range(len(message) - tail, len(message)):
        changed = message[:place] + bytes((message[place] ^ 1,)) + message[place + 1 :]
        assert refusal(changed).code in {"cms.decryption-failed", "cms.malformed"}


def test_gcm_inside_enveloped_data_is_read_as_bouncycastle_writes_it() -> None:
    encrypted, tag = gcm(CONTENT)
    message = enveloped(encrypted + tag, GCM)
    assert decrypt(message, [clerk()]) == CONTENT
    for piece_bytes in (1, 5, 16, 17, 1000):  # the tag may be cut across pieces
        assert decrypt(as_ber(message, piece_bytes), [clerk()]) == CONTENT
    assert refusal(enveloped(encrypted, GCM)).code == "cms.decryption-failed"
    assert refusal(enveloped(tag[:15], GCM)).code == "cms.malformed"


def test_attributes_are_authenticated_too() -> None:
    attributes = attribute(oids.CONTENT_TYPE, oids.DATA)
    encrypted, tag = gcm(CONTENT, element(SET, attributes))
    behind = element(context_tag(1), attributes) + element(OCTET_STRING, tag)
    message = enveloped(encrypted, GCM, behind=behind, content_type=oids.AUTH_ENVELOPED_DATA)
    assert decrypt(message, [clerk()]) == CONTENT
    without = enveloped(encrypted, GCM, behind=element(OCTET_STRING, tag), content_type=oids.AUTH_ENVELOPED_DATA)
    assert refusal(without).code == "cms.decryption-failed"


@pytest.mark.parametrize(("cipher", "tag"), [(GCM, bytes(15)), (GCM, b""), (CBC, bytes(16)), (CBC, b"")])
def test_a_tag_that_does_not_fit_is_refused(cipher: bytes, tag: bytes) -> None:
    behind = element(OCTET_STRING, tag)
    message = enveloped(bytes(32), cipher, behind=behind, content_type=oids.AUTH_ENVELOPED_DATA)
    assert refusal(message).code == "cms.malformed"


@pytest.mark.parametrize("tag_bytes", [0, 4, 11, 17, -1])
def test_tags_that_prove_little_are_not_accepted(tag_bytes: int) -> None:
    length = element(0x02, tag_bytes.to_bytes(1, "big", signed=True))
    weak = sequence(oids.AES256_GCM, sequence(element(OCTET_STRING, NONCE), length))
    assert refusal(enveloped(bytes(32), weak)).code == "cms.unsupported"


def test_triple_des_is_read_and_not_written() -> None:
    key, vector = bytes(range(24)), bytes(8)
    machine = Cipher(TripleDES(key), modes.CBC(vector)).encryptor()
    encrypted = machine.update(padded(CONTENT, 8)) + machine.finalize()
    cipher = sequence(oids.DES3_CBC, element(OCTET_STRING, vector))
    assert decrypt(enveloped(encrypted, cipher, [wrapped(key)]), [clerk()]) == CONTENT
    with pytest.raises(Refused, match="aes256-cbc"):
        encrypt(CONTENT, [clerk().certificate], cipher="3des-cbc", randomness=os.urandom)


def oaep_way(*parameters: bytes) -> bytes:
    return sequence(oids.RSA_OAEP, sequence(*parameters))


SHA256_IN = element(context_tag(0), sequence(oids.SHA256))
MASK_SHA256_IN = element(context_tag(1), sequence(oids.MGF1, sequence(oids.SHA256)))
LABEL_IN = element(context_tag(2), sequence(oids.P_SPECIFIED, element(OCTET_STRING, b"label")))


@pytest.mark.parametrize(
    ("way", "by"),
    [
        (sequence(oids.RSA_OAEP), OAEP_SHA1),
        (oaep_way(), OAEP_SHA1),
        (oaep_way(SHA256_IN), padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA256(), None)),
        (oaep_way(MASK_SHA256_IN), padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA1(), None)),
        (oaep_way(SHA256_IN, MASK_SHA256_IN), padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)),
        (oaep_way(LABEL_IN), padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), b"label")),
    ],
)
def test_every_way_of_oaep_is_read(way: bytes, by: padding.OAEP) -> None:
    assert decrypt(enveloped(cbc(padded(CONTENT)), CBC, [wrapped(way=way, by=by)]), [clerk()]) == CONTENT


@pytest.mark.parametrize(
    ("cipher", "way", "code"),
    [
        (sequence(oids.MD5, element(NULL)), PKCS1, "cms.unsupported"),
        (sequence(oids.AES256_CBC), PKCS1, "cms.malformed"),
        (sequence(oids.AES256_CBC, element(OCTET_STRING, VECTOR[1:])), PKCS1, "cms.malformed"),
        (sequence(oids.AES256_GCM, sequence(element(OCTET_STRING, b"short"))), PKCS1, "cms.malformed"),
        (CBC, sequence(oids.MD5), "cms.unsupported"),
        (CBC, oaep_way(element(context_tag(0), sequence(oids.MD5))), "cms.unsupported"),
        (CBC, oaep_way(element(context_tag(1), sequence(oids.MD5))), "cms.unsupported"),
        (CBC, oaep_way(element(context_tag(2), sequence(oids.MD5))), "cms.unsupported"),
    ],
)
def test_what_is_not_known_is_named_and_refused(cipher: bytes, way: bytes, code: str) -> None:
    assert refusal(enveloped(cbc(padded(CONTENT)), cipher, [wrapped(way=way)])).code == code


def test_a_recipient_that_is_reached_in_another_way_is_passed_over() -> None:
    agreement = element(context_tag(1), small_integer(3))
    message = enveloped(cbc(padded(CONTENT)), CBC, [agreement, wrapped()])
    assert decrypt(message, [clerk()]) == CONTENT
    assert "other certificates" in str(refusal(enveloped(cbc(padded(CONTENT)), CBC, [agreement])))


def test_keys_of_elliptic_curves_neither_receive_nor_read() -> None:
    with pytest.raises(Refused, match="RSA"):
        encrypt(CONTENT, [notary().certificate], randomness=os.urandom)
    named = wrapped(mark=marks_of(notary().certificate).issuer_and_serial)
    assert refusal(enveloped(b"", CBC, [named]), notary()).code == "cms.unsupported"


def test_a_key_that_is_too_short_is_named() -> None:
    short = identity("Short", rsa.generate_private_key(public_exponent=65537, key_size=1024))
    assert encrypt(CONTENT, [short.certificate], oaep=True, randomness=os.urandom)
    assert refusal(enveloped(b"", CBC, [wrapped()]), short).code == "cms.decryption-failed"


def test_one_recipient_named_a_thousand_times_is_unwrapped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = 0

    def unwrapped(self: object, length: int) -> bytes:
        nonlocal counted
        counted += 1
        return bytes(length)

    monkeypatch.setattr("postroad.core.codecs.cms.enveloped_data.WrappedKey.unwrap", unwrapped)
    assert refusal(enveloped(bytes(32), CBC, [wrapped()] * 1000)).code == "cms.decryption-failed"
    assert counted == 1


def test_more_recipients_than_anybody_has_are_refused() -> None:
    assert refusal(enveloped(b"", CBC, [sequence()] * 1001)).code == "cms.too-complex"


def test_encrypting_for_nobody_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="recipients"):
        encrypt(CONTENT, [], randomness=os.urandom)


def test_randomness_is_an_argument() -> None:
    asked: list[int] = []

    def randomness(count: int) -> bytes:
        asked.append(count)
        return bytes(count)

    message = encrypt(CONTENT, [clerk().certificate], cipher="aes192-cbc", randomness=randomness)
    assert asked == [24, 16]
    assert decrypt(message, [clerk()]) == CONTENT


@ciphers
def test_cut_messages_are_refused(cipher: str) -> None:
    message = encrypt(CONTENT, [clerk().certificate], cipher=cipher, randomness=os.urandom)
    for whole in (message, as_ber(message, 50)):
        for length in range(len(whole)):
            assert refusal(whole[:length]).code == "cms.malformed"
