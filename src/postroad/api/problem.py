"""Writes every error as an HTTP problem (RFC 9457), from the one table of codes.

A problem contains a description (``detail``), a stable code for programs (``code``) and the location (``pointer``, or
``errors`` for several locations); its ``type`` links to the section of the documentation on what to do next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused, Unavailable
from postroad.flow.administration.base import InvalidChange

CONTENT_TYPE = "application/problem+json"
PAGE = "/docs/errors"
CHALLENGE = 'Bearer realm="postroad", Basic realm="postroad", charset="UTF-8"'
RETRY_AFTER_S = {"authentication.throttled": 30, "rate.exceeded": 1, "network.busy": 1}  # others: 5


class HttpProblem(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]


def problem(
    code: str,
    detail: str,
    *,
    pointer: str = "",
    session: str = "",
    errors: Iterable[Mapping[str, str]] = (),
    incident: str = "",
    headers: Mapping[str, str] | None = None,
) -> HttpProblem:
    """Return the response for a code, with its status and headers."""
    refusal = REFUSALS[code]
    content: dict[str, Any] = {
        "type": f"{PAGE}#{code}",
        "title": refusal.title,
        "status": refusal.status,
        "detail": detail,
        "code": code,
    }
    more = {"pointer": pointer, "session": session, "errors": list(errors), "incident": incident}
    content |= {name: value for name, value in more.items() if value}
    return HttpProblem(
        refusal.status, msgspec.json.encode(content), _headers(code, refusal.status) | dict(headers or {})
    )


def problem_of(error: Refused | Unavailable) -> HttpProblem:
    if isinstance(error, Unavailable):
        return problem(error.code, error.detail, headers={"Retry-After": str(error.retry_after_s)})
    errors = []
    if isinstance(error, InvalidChange):
        errors = [{"pointer": fault.pointer, "detail": fault.detail} for fault in error.faults]
    headers = {"Retry-After": str(error.retry_after_s)} if error.retry_after_s else {}
    return problem(
        error.code, error.detail, pointer=error.pointer, session=error.session, errors=errors, headers=headers
    )


def problem_bytes(status: int, code: str, detail: str) -> tuple[bytes, bytes]:
    """Return content type and body, for refusals by the HTTP front."""
    if code not in REFUSALS:
        code = "internal" if status >= 500 else "request.malformed"
    content = {
        "type": f"{PAGE}#{code}",
        "title": REFUSALS[code].title,
        "status": status,
        "detail": detail,
        "code": code,
    }
    return CONTENT_TYPE.encode(), msgspec.json.encode(content)


def _headers(code: str, status: int) -> dict[str, str]:
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = CHALLENGE
    if status in (429, 503):
        headers["Retry-After"] = str(RETRY_AFTER_S.get(code, 5))
    return headers
