"""Where this network is reached from outside, for links that lead back to it.

Kept rule: the settings or the socket say so, never a request. Whoever asks chooses the Host header, and a link made from it
could lead anywhere.
"""

from __future__ import annotations

from postroad.bootstrap.settings import Settings


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
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        return settings.public_url.rstrip("/") or f"{scheme}://{host}:{self._port}"
