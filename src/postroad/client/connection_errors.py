"""Describe why no response arrived, from the cause inside httpx2's errors."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpx2

from postroad.client.steps import NoResponse

WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLCertVerificationError, "the server's certificate is not trusted; SSL_CERT_FILE names another authority"),
    (ssl.SSLError, "the TLS handshake failed; does the server support TLS, or is its address http://?"),
    (socket.gaierror, "the host does not exist"),
    (ConnectionRefusedError, "connection refused"),
    (httpx2.ConnectTimeout, "it took too long to connect"),
    (httpx2.ReadTimeout, "it took too long to answer"),
    (httpx2.RemoteProtocolError, "the connection broke off before a whole answer came"),
    (ConnectionResetError, "the connection broke off before a whole answer came"),
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
