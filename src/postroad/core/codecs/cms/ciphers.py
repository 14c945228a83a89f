"""Ciphers of enveloped content: their names and parameters, encryption and decryption.

Rule: decryption returns the content or None, and never the reason of a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hmac import compare_digest

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.primitives.ciphers import Cipher as Machine
from cryptography.hazmat.primitives.ciphers import CipherContext, algorithms, modes

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.ber import BerElement
from postroad.core.codecs.cms.der import INTEGER, OCTET_STRING, element, sequence, small_integer
from postroad.core.codecs.cms.refusals import malformed, unsupported

NONCE_BYTES, TAG_BYTES = 12, 16
_SHORTEST_TAG = 12  # RFC 5084


@dataclass(frozen=True, slots=True, kw_only=True)
class Cipher:
    name: str
    oid: bytes
    key_bytes: int
    block_bytes: int
    authenticates: bool
    algorithm: Callable[[bytes], algorithms.AES | TripleDES] = algorithms.AES

    @property
    def vector_bytes(self) -> int:
        return NONCE_BYTES if self.authenticates else self.block_bytes

    def identifier(self, vector: bytes) -> bytes:
        """Its AlgorithmIdentifier with the initialisation vector, or the nonce and the length of the tag."""
        if not self.authenticates:
            return sequence(self.oid, element(OCTET_STRING, vector))
        return sequence(self.oid, sequence(element(OCTET_STRING, vector), small_integer(TAG_BYTES)))

    def seal(self, content: Sequence[Buffer], key: bytes, vector: bytes) -> tuple[list[Buffer], bytes]:
        """The encrypted content and its tag, which is empty for a cipher that does not authenticate."""
        if self.authenticates:
            locked = Machine(self.algorithm(key), modes.GCM(vector)).encryptor()
            pieces: list[Buffer] = [locked.update(piece) for piece in content]
            locked.finalize()
            return pieces, locked.tag
        padding = self.block_bytes - sum(map(len, content)) % self.block_bytes
        return _through(
            Machine(self.algorithm(key), modes.CBC(vector)).encryptor(), [*content, bytes((padding,)) * padding]
        ), b""


CIPHERS = {
    cipher.name: cipher
    for cipher in (
        Cipher(name="aes128-cbc", oid=oids.AES128_CBC, key_bytes=16, block_bytes=16, authenticates=False),
        Cipher(name="aes192-cbc", oid=oids.AES192_CBC, key_bytes=24, block_bytes=16, authenticates=False),
        Cipher(name="aes256-cbc", oid=oids.AES256_CBC, key_bytes=32, block_bytes=16, authenticates=False),
        Cipher(name="aes128-gcm", oid=oids.AES128_GCM, key_bytes=16, block_bytes=16, authenticates=True),
        Cipher(name="aes192-gcm", oid=oids.AES192_GCM, key_bytes=24, block_bytes=16, authenticates=True),
        Cipher(name="aes256-gcm", oid=oids.AES256_GCM, key_bytes=32, block_bytes=16, authenticates=True),
    )
}
_ONLY_READ = Cipher(
    name="3des-cbc", oid=oids.DES3_CBC, key_bytes=24, block_bytes=8, authenticates=False, algorithm=TripleDES
)
_BY_OID = {cipher.oid: cipher for cipher in (*CIPHERS.values(), _ONLY_READ)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedContent:
    """Encrypted content with everything that opens it but the key."""

    cipher: Cipher
    vector: bytes
    pieces: Sequence[Buffer]
    tag: bytes = b""
    also_authenticated: bytes = b""

    def open(self, key: bytes) -> bytes | None:
        if self.cipher.authenticates:
            return self._authenticated(key)
        if sum(map(len, self.pieces)) % self.cipher.block_bytes:
            return None
        machine = Machine(self.cipher.algorithm(key), modes.CBC(self.vector)).decryptor()
        return _without_padding(b"".join(_through(machine, self.pieces)), self.cipher.block_bytes)

    def _authenticated(self, key: bytes) -> bytes | None:
        mode = modes.GCM(self.vector, self.tag, min_tag_length=_SHORTEST_TAG)
        machine = Machine(self.cipher.algorithm(key), mode).decryptor()
        machine.authenticate_additional_data(self.also_authenticated)
        found = [machine.update(piece) for piece in self.pieces]
        try:
            machine.finalize()
        except InvalidTag:
            return None
        return b"".join(found)


def find_cipher(name: str) -> Cipher:
    if name not in CIPHERS:
        raise unsupported(f"The cipher {name[:40]!r} is not offered; choose one of {', '.join(CIPHERS)}")
    return CIPHERS[name]


def cipher_in(identifier: BerElement) -> tuple[Cipher, bytes, int]:
    """The cipher that an AlgorithmIdentifier names, its vector, and the length of the tag."""
    fields = identifier.fields()
    cipher = _BY_OID.get(fields.take("cipher").oid())
    if cipher is None:
        raise unsupported(f"The message uses a cipher that is not accepted; the sender may use {', '.join(CIPHERS)}")
    parameters = fields.take("parameters of the cipher")
    if not cipher.authenticates:
        return cipher, _vector(parameters, cipher.block_bytes, cipher.block_bytes), 0
    of_gcm = parameters.fields()
    nonce = _vector(of_gcm.take("nonce"), 8, 64)
    length = of_gcm.maybe(INTEGER)
    tag_bytes = length.integer() if length else _SHORTEST_TAG
    if not _SHORTEST_TAG <= tag_bytes <= TAG_BYTES:
        raise unsupported("The message's authentication tag is too short; the sender must use 16 bytes")
    return cipher, nonce, tag_bytes


def _vector(found: BerElement, least: int, most: int) -> bytes:
    vector = found.string("initialisation vector").octets()
    if not least <= len(vector) <= most:
        raise malformed("The initialisation vector does not fit the cipher", found.begin)
    return vector


def _through(machine: CipherContext, content: Sequence[Buffer]) -> list[Buffer]:
    pieces: list[Buffer] = [machine.update(piece) for piece in content]
    machine.finalize()
    return pieces


def _without_padding(padded: bytes, block_bytes: int) -> bytes | None:
    last_block = padded[-block_bytes:]
    count = last_block[-1] if last_block else 0
    expected = bytes((count,)) * min(count, block_bytes)
    right = compare_digest(last_block[-len(expected) :], expected)
    return padded[:-count] if right and 1 <= count <= block_bytes else None
