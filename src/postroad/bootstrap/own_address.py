"""The external URL of this network, for links that return to it.

Rule: the settings or the socket determine it. A client chooses the Host header, so a link made from an unknown host
could lead anywhere.
"""

from __future__ import annotations

import re

from postroad.bootstrap.settings import Settings

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::[0-9]{1,5})?", re.ASCII)


class OwnAddress:
    """The network's URL, from the settings or the socket."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._port = settings.port

    def listens_on(self, port: int) -> None:
        """Set the port that the server got, which is needed if the settings allow any port."""
        self._port = port

    @property
    def url(self) -> str:
        """Return the external URL, without a trailing slash."""
        settings = self._settings
        scheme = "https" if settings.tls_certificate else "http"
        return settings.public_url.rstrip("/") or f"{scheme}://{self._host}:{self._port}"

    def url_at(self, host_header: str, *, secure: bool) -> str:
        """Return the URL for a client that used this Host header: its host if known, otherwise ``url``.

        Known hosts are the one in the settings and the local names of this machine. Any port is accepted, since it
        may be forwarded.
        """
        found = HOST.fullmatch(host_header.strip().lower())
        if self._settings.public_url or found is None or found[1] not in LOOPBACK | {self._host.lower()}:
            return self.url
        return f"{'https' if secure else 'http'}://{found[0]}"

    @property
    def _host(self) -> str:
        return f"[{self._settings.host}]" if ":" in self._settings.host else self._settings.host
