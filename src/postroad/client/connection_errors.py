"""Describe why no response arrived, from the cause inside httpx2's errors."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpx2

from postroad.client.steps import NoResponse

WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLCertVerificationError, "the server's certificate is not trusted; use SSL_CERT_FILE for another authority"),
    (ssl.SSLError, "the TLS handshake failed; does the server support TLS, or is its address http://?"),
    (socket.gaierror, "the host does not exist"),
    (ConnectionRefusedError, "connection refused"),
    (httpx2.ConnectTimeout, "it took too long to connect"),
    (httpx2.ReadTimeout, "the response took too long"),
    (httpx2.RemoteProtocolError, "the connection was closed before the complete response arrived"),
    (ConnectionResetError, "the connection was closed before the complete response arrived"),
)


UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.LocalProtocolError)


def describe_no_response(error: httpx2.TransportError, url: str) -> NoResponse:
    known = (words for cause in _causes(error) for kind, words in WORDS if isinstance(cause, kind))
    return NoResponse(url=url, reason=next(known, type(error).__name__), was_sent=not isinstance(error, UNSENT))


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
