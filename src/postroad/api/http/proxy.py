"""Reads what a trusted proxy reports about the client: its certificate, its address, and whether it used TLS.

A certificate is a byte sequence (RFC 9440), or PEM in percent-encoding, which is the only form that nginx can write.

Rule: only a peer whose address the operator has configured may report this. From all others, these headers are
removed before any other code sees them, so that no client can impersonate another by a header.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from postroad.errors import Misconfigured, Refused

CLIENT_CERT = b"client-cert"
PEM = re.compile(rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----\s*")
FORWARDED = frozenset(
    {CLIENT_CERT, b"client-cert-chain", b"forwarded", b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host"}
)


Said = Sequence[tuple[bytes, bytes]]


class ClientOrigin(NamedTuple):
    """The other end of the connection, as far as it is trusted."""

    peer: str
    secure: bool
    client_certificate_der: bytes | None


class TrustedProxies:
    """The addresses whose reports about the client are trusted; none by default."""

    __slots__ = ("_known", "_networks")

    def __init__(self, networks: Iterable[str] = ()) -> None:
        faults: list[str] = []
        self._networks: list[IPv4Network | IPv6Network] = []
        self._known: dict[str, bool] = {}
        for text in networks:
            try:
                self._networks.append(ip_network(text))
            except ValueError as error:
                faults.append(f"trusted proxy {text!r}: {error}; write an address or a network such as 10.0.0.0/8")
        if faults:
            raise Misconfigured(faults)

    def trusts(self, peer: str) -> bool:
        if not self._networks or not peer:
            return False
        known = self._known.get(peer)
        if known is None:
            address = ip_address(peer.partition("%")[0])
            mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
            known = any((mapped or address) in network for network in self._networks)
            if len(self._known) < 10_000:
                self._known[peer] = known
        return known

    def origin(self, said: Said, direct: ClientOrigin) -> ClientOrigin:
        """Return the client's origin from the proxy's headers if ``direct`` is a trusted proxy; otherwise ``direct``."""
        if not self.trusts(direct.peer):
            return direct
        return ClientOrigin(self._address(said, direct.peer), _was_secure(said), _certificate(said))

    def _address(self, said: Said, proxy: str) -> str:
        """Return the last entry that is not a trusted proxy, since each proxy appends the address that it saw."""
        chain = b",".join(value for name, value in said if name == b"x-forwarded-for")
        found = proxy
        for entry in reversed(chain.decode("latin-1").split(",")):
            try:
                found = str(ip_address(entry.strip()))
            except ValueError:
                return found
            if not self.trusts(found):
                return found
        return found


def _was_secure(said: Said) -> bool:
    return [value.strip().lower() for name, value in said if name == b"x-forwarded-proto"] == [b"https"]


def _certificate(said: Said) -> bytes | None:
    values = [value for name, value in said if name == CLIENT_CERT]
    if not values:
        return None
    encoded = _base64_of(values[0].strip()) if len(values) == 1 else b""
    if not encoded:
        raise Refused(
            "request.malformed",
            "Client-Cert must be one certificate: a byte sequence as in RFC 9440 (':base64:'), or PEM in percent-encoding",
        )
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise Refused("request.malformed", "Client-Cert is not valid base64") from None


def _base64_of(value: bytes) -> bytes:
    """Return the base64 text of a certificate in either form; empty if it is in neither."""
    if value[:1] == b":" and value[-1:] == b":":
        return value[1:-1]
    found = PEM.fullmatch(unquote_to_bytes(value)) if value.startswith(b"-----BEGIN%20") else None
    return b"".join(found[1].split()) if found else b""
