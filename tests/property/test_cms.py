"""CMS, whatever the content: what is made is read again in every encoding; what is cut, changed or random is refused."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.core.codecs.cms import Identity, compress, content_kind, decompress, decrypt, encrypt, sign, verify
from postroad.core.codecs.cms.ciphers import CIPHERS
from postroad.errors import Refused
from tests.samples.cms_people import CONTENT, SIGNED_AT, clerk, notary
from tests.samples.crafted_cms import as_ber

PIECES = st.lists(st.binary(max_size=300) | st.binary(max_size=50).map(lambda some: some * 500), max_size=5)
PIECE_BYTES = st.integers(1, 2000)
DIGESTS = st.sampled_from(["sha256", "sha384", "sha512"])
TRUSTED = [clerk().certificate, notary().certificate]
SEEDS = [
    sign([CONTENT], [clerk()], detached=False, signed_at=SIGNED_AT),
    sign([CONTENT], [clerk(), notary()], signed_at=SIGNED_AT, pss=True),
    encrypt(CONTENT, [clerk().certificate], randomness=os.urandom),
    encrypt(CONTENT, [clerk().certificate], cipher="aes256-gcm", oaep=True, randomness=os.urandom),
    compress(CONTENT),
]
SEEDS += [as_ber(seed, 40) for seed in SEEDS]
READERS: list[Callable[[bytes], object]] = [
    content_kind,
    lambda buffer: verify(buffer, None, TRUSTED),
    lambda buffer: verify(buffer, [CONTENT], TRUSTED),
    lambda buffer: decrypt(buffer, [clerk(), notary()]),
    decompress,
]


@pytest.mark.req("T7")
@settings(deadline=None, max_examples=60)
@given(PIECES, st.sampled_from([clerk, notary]), DIGESTS, st.booleans(), PIECE_BYTES)
def test_signed_content_comes_back(
    pieces: list[bytes], signer: Callable[[], Identity], digest: str, pss: bool, piece_bytes: int
) -> None:
    beside = sign(pieces, [signer()], digest=digest, signed_at=SIGNED_AT, pss=pss)
    around = sign(pieces, [signer()], digest=digest, detached=False, signed_at=SIGNED_AT, pss=pss)
    content = b"".join(pieces)
    assert verify(beside, [content], TRUSTED).content is None
    assert verify(around, None, TRUSTED).content == content
    assert verify(as_ber(around, piece_bytes), None, TRUSTED).content == content


@pytest.mark.req("T7")
@settings(deadline=None, max_examples=60)
@given(PIECES, st.sampled_from(sorted(CIPHERS)), st.booleans(), PIECE_BYTES)
def test_encrypted_content_comes_back(pieces: list[bytes], cipher: str, oaep: bool, piece_bytes: int) -> None:
    message = encrypt(pieces, [clerk().certificate], cipher=cipher, oaep=oaep, randomness=os.urandom)
    assert decrypt(message, [clerk()]) == decrypt(as_ber(message, piece_bytes), [clerk()]) == b"".join(pieces)


@pytest.mark.req("T7")
@settings(deadline=None, max_examples=100)
@given(PIECES, st.integers(0, 9), PIECE_BYTES)
def test_compressed_content_comes_back(pieces: list[bytes], level: int, piece_bytes: int) -> None:
    message = compress(pieces, level)
    assert decompress(message) == decompress(as_ber(message, piece_bytes)) == b"".join(pieces)


@settings(deadline=None, max_examples=60)
@given(st.binary(min_size=1, max_size=200), st.data())
def test_content_that_was_changed_anywhere_does_not_verify(content: bytes, data: st.DataObject) -> None:
    signed = sign([content], [clerk()], signed_at=None)
    place = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Refused, match=r"cms\.signature-invalid"):
        verify(signed, [bytes(changed)], TRUSTED)


def refusals(buffer: bytes) -> set[str]:
    """The codes with which the readers refuse it; any other error ends the test."""
    codes = set()
    for reader in READERS:
        try:
            reader(buffer)
        except Refused as refused:
            codes.add(refused.code.partition(".")[0])
    return codes


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=400) | st.binary(max_size=100).map(lambda some: b"\x30\x80" + some))
def test_random_bytes_are_refused(buffer: bytes) -> None:
    assert refusals(buffer) == {"cms"}


@settings(deadline=None, max_examples=400)
@given(st.sampled_from(SEEDS), st.data())
def test_changed_messages_are_read_or_refused(seed: bytes, data: st.DataObject) -> None:
    changed = bytearray(seed)
    for _ in range(data.draw(st.integers(1, 3))):
        if not changed:  # cut to nothing
            break
        place = data.draw(st.integers(0, len(changed) - 1))
        match data.draw(st.sampled_from(["set", "cut", "put", "end"])):
            case "set":
                changed[place] = data.draw(st.integers(0, 255))
            case "cut":
                del changed[place : place + data.draw(st.integers(1, 20))]
            case "put":
                changed[place:place] = data.draw(st.binary(min_size=1, max_size=20))
            case "end":
                del changed[place + 1 :]
    assert refusals(bytes(changed)) == {"cms"}
