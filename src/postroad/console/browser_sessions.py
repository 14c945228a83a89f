"""Browser sessions: a browser in which a person is logged in, by a key in a cookie.

The cookie contains a key of the person, created at login; so a session is listed, ended and journalled like a login
of ``/v1/login``, and ends after twelve hours. The API refuses this key: only the console accepts it, with its idle
timeout. The cookie also has the time when the browser was last seen, with a proof, so that an unused session ends
earlier, on every node and after a restart. Rules: a new login is a new key. No script can read the cookie, and no
other site can make a browser send it.
"""

from __future__ import annotations

import hmac
import re
from hashlib import blake2b

from starlette.requests import Request
from starlette.responses import Response

from postroad.core.identity import api_key

IDLE_S = 2 * 3_600
RENEWED_S = 60  # a cookie that is younger is left as it is
ENDS_S = 12 * 3_600
MOMENT = re.compile(r"[0-9a-f]{1,12}", re.ASCII)  # seconds
SECURE_NAME, PLAIN_NAME = "__Host-postroad", "postroad"  # browsers take the first only over TLS


class BrowserSessions:
    """Reads and writes the cookies of browser sessions."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def key_in(self, request: Request, now_s: int) -> str:
        """Return the key in the request's cookie; empty if it is missing or has been idle for too long."""
        key, _, seen = request.cookies.get(_name(request), "").partition("|")
        return key if seen and now_s - self._seen_s(key, seen) < IDLE_S else ""

    def is_old(self, request: Request, now_s: int) -> bool:
        """Return True if the cookie's last-used time should be updated."""
        key, _, seen = request.cookies.get(_name(request), "").partition("|")
        return now_s - self._seen_s(key, seen) >= RENEWED_S

    def begin(self, request: Request, response: Response, key: str, now_s: int) -> None:
        """Set the cookie with the key and the current time."""
        response.set_cookie(
            _name(request),
            f"{key}|{now_s:x}.{self._proof(key, now_s)}",
            max_age=ENDS_S,
            path="/",
            secure=_is_secure(request),
            httponly=True,
            samesite="lax",
        )

    def end(self, request: Request, response: Response) -> None:
        response.delete_cookie(_name(request), path="/", secure=_is_secure(request), httponly=True, samesite="lax")

    def csrf(self, key: str) -> str:
        """Return the CSRF token for the forms of this browser session."""
        return blake2b(
            (api_key.key_id(key) or "").encode(), key=self._secret, person=b"form", digest_size=16
        ).hexdigest()

    def is_own(self, key: str, proof: str) -> bool:
        return hmac.compare_digest(self.csrf(key).encode(), proof.encode())

    def _seen_s(self, key: str, seen: str) -> int:
        """Return the time of last use; 0 if its proof is invalid."""
        moment, _, proof = seen.partition(".")
        if not MOMENT.fullmatch(moment):
            return 0
        seen_s = int(moment, 16)
        return seen_s if hmac.compare_digest(self._proof(key, seen_s).encode(), proof.encode()) else 0

    def _proof(self, key: str, seen_s: int) -> str:
        return blake2b(f"{key}|{seen_s}".encode(), key=self._secret, person=b"seen", digest_size=16).hexdigest()


def _is_secure(request: Request) -> bool:
    return bool(request.scope.get("scheme") == "https")


def _name(request: Request) -> str:
    return SECURE_NAME if _is_secure(request) else PLAIN_NAME
