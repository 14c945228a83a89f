"""Where this network is reached from outside, for links that lead back to it.

Rule: the settings or the socket determine it. A client chooses the Host header, and a link made from an unknown one could
lead anywhere.
"""

from __future__ import annotations

import re

from postroad.bootstrap.settings import Settings

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::[0-9]{1,5})?", re.ASCII)


class OwnAddress:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._port = settings.port

    def listens_on(self, port: int) -> None:
        """The port that the server got; where any was wanted, only that tells."""
        self._port = port

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        settings = self._settings
        scheme = "https" if settings.tls_certificate else "http"
        return settings.public_url.rstrip("/") or f"{scheme}://{self._host}:{self._port}"

    def url_at(self, host_header: str, *, secure: bool) -> str:
        """The URL for a client that reached the server under this Host header: its own host if known, else ``url``.

        Known are the host of the settings and the names of this machine for itself. Any port is taken: it may be forwarded.
        """
        found = HOST.fullmatch(host_header.strip().lower())
        if self._settings.public_url or found is None or found[1] not in LOOPBACK | {self._host.lower()}:
            return self.url
        return f"{'https' if secure else 'http'}://{found[0]}"

    @property
    def _host(self) -> str:
        return f"[{self._settings.host}]" if ":" in self._settings.host else self._settings.host
