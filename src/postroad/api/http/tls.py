"""TLS for the server itself, with the client certificates of the directory.

A client's certificate needs no signature of a certificate authority: the directory pins its fingerprint. OpenSSL,
through Python's ssl module, accepts a client's certificate only if it leads to a trust anchor, so the registered
certificates are themselves the anchors (``VERIFY_X509_PARTIAL_CHAIN`` permits leaf certificates). The set changes
while the server runs; each handshake uses the newest context, and existing connections keep theirs.

Rule: the handshake proves possession of the key, and the directory determines its owner. A client without a
certificate is accepted and authenticates otherwise; an unregistered certificate is refused in the handshake.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Sequence
from pathlib import Path

from postroad.errors import Misconfigured


class TlsFront:
    """The server's certificate and the client certificates it accepts; ``context`` stays the same object indefinitely."""

    def __init__(
        self, certificate: Path, key: Path, *, client_ca: Path | None = None, clients_der: Iterable[bytes] = ()
    ) -> None:
        self._certificate = certificate
        self._key = key
        self._client_ca = client_ca
        self._clients = tuple(clients_der)
        self._renewed_at = self._changed_at()
        self.context = self._current = self._build()
        self.context.sni_callback = self._use_current

    def trust(self, clients_der: Iterable[bytes]) -> None:
        """Replace the registered client certificates; later handshakes use the new set."""
        self._clients = tuple(clients_der)
        self._current = self._build()

    def admit(self, client_der: bytes) -> None:
        """Add one client certificate at once; rebuilding the whole set takes 0.15 ms for each certificate in it."""
        self._load_clients(self._current, [client_der])
        self._clients = (*self._clients, client_der)

    def reload(self) -> None:
        """Reload the server's own certificate and key from disk."""
        self._current = self._build()

    def reload_if_renewed(self) -> bool:
        """Reload certificate and key if either file has changed; on mismatch, keep the old pair and raise Misconfigured."""
        changed_at = self._changed_at()
        if changed_at == self._renewed_at:
            return False
        self.reload()
        self._renewed_at = changed_at
        return True

    def _changed_at(self) -> tuple[int, ...]:
        """Return the modification times of the files; 0 for a missing file."""
        return tuple(path.stat().st_mtime_ns if path.exists() else 0 for path in (self._certificate, self._key))

    def _use_current(self, connection: ssl.SSLObject, server_name: str | None, context: ssl.SSLContext) -> None:
        connection.context = self._current

    def _build(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
        context.set_alpn_protocols(["http/1.1"])
        self._load_own(context)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        self._load_authority(context)
        self._load_clients(context, self._clients)
        return context

    def _load_own(self, context: ssl.SSLContext) -> None:
        try:
            context.load_cert_chain(self._certificate, self._key)
        except (OSError, ssl.SSLError) as error:
            raise Misconfigured(
                [f"TLS certificate {self._certificate} with key {self._key}: {error}; give a PEM chain and its key"]
            ) from None

    def _load_authority(self, context: ssl.SSLContext) -> None:
        try:
            if self._client_ca is not None:
                context.load_verify_locations(cafile=self._client_ca)
        except (OSError, ssl.SSLError) as error:
            raise Misconfigured([f"client certificate authority {self._client_ca}: {error}; give a PEM file"]) from None

    @staticmethod
    def _load_clients(context: ssl.SSLContext, clients_der: Sequence[bytes]) -> None:
        try:
            if clients_der:
                context.load_verify_locations(cadata=b"".join(clients_der))
        except ssl.SSLError as error:
            raise Misconfigured([f"client certificates: {error}; each must be one X.509 certificate in DER"]) from None
