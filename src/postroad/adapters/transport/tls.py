"""TLS to receivers: authorities of the machine and the operator, verified names, client certificates from files or PEM text.

Rules: a replaced certificate is used from the next connection on, so that a rollover needs no restart. PEM text is not written
to a disk; OpenSSL reads it from anonymous memory where the system has that.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from postroad.adapters.transport.no_answer import NoAnswer
from postroad.core.delivery.reasons import make_reason
from postroad.errors import Misconfigured

CONTEXTS = 256

_Files = tuple[str, int, str, int]  # chain and key, each with its modification time


class TlsContexts:
    """TLS contexts: one per client certificate, and one without."""

    def __init__(self, authorities: str = "") -> None:
        self._authorities = authorities
        try:
            self._anonymous = self._made(None)
        except (OSError, ssl.SSLError) as error:
            raise Misconfigured(
                [f"push_authorities: {authorities} cannot be read as PEM certificates: {error}"]
            ) from error
        self._contexts: OrderedDict[_Files | bytes, ssl.SSLContext] = (
            OrderedDict()
        )  # by files, or digest of the PEM text

    async def of(self, certificate: tuple[str, str] | None, pem: str = "") -> ssl.SSLContext:
        """Return the context for a connection; raises NoAnswer if the client certificate cannot be read."""
        if certificate is None and not pem:
            return self._anonymous
        try:
            if certificate is None:
                return await asyncio.to_thread(self._of_pem, pem)
            return await asyncio.to_thread(self._of_files, certificate)
        except (OSError, ssl.SSLError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise NoAnswer(make_reason("push.client-certificate", detail=reason)) from error

    def _of_files(self, certificate: tuple[str, str]) -> ssl.SSLContext:
        chain, key = certificate
        files = (chain, os.stat(chain).st_mtime_ns, key, os.stat(key).st_mtime_ns)
        return self._kept(files, certificate)

    def _of_pem(self, pem: str) -> ssl.SSLContext:
        digest = sha256(pem.encode()).digest()
        if digest in self._contexts:
            return self._kept(digest, None)
        with open_private_file(pem.encode()) as path:
            return self._kept(digest, (path, path))

    def _kept(self, key: _Files | bytes, certificate: tuple[str, str] | None) -> ssl.SSLContext:
        context = self._contexts.get(key)
        if context is None:
            context = self._contexts[key] = self._made(certificate)
            if len(self._contexts) > CONTEXTS:
                self._contexts.popitem(last=False)
        return context

    def _made(self, certificate: tuple[str, str] | None) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        if self._authorities:
            context.load_verify_locations(cafile=self._authorities)
        if certificate is not None:
            # Without a password, OpenSSL would prompt for one at the terminal and wait.
            context.load_cert_chain(*certificate, password="")
        return context


@contextmanager
def open_private_file(content: bytes) -> Iterator[str]:
    """Provide the path of a file with this content, which only this process can read, until the end of the block."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("secret", os.MFD_CLOEXEC)
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{number}"
        return
    with tempfile.NamedTemporaryFile() as file:  # created with mode 0600
        file.write(content)
        file.flush()
        yield file.name
