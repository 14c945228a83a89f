"""The page that a problem's ``type`` points to: every error code with its title."""

from __future__ import annotations

from html import escape

from postroad.api.http.request import FastReply, FastRequest
from postroad.core.model.refusals import REFUSALS

CONTENT_TYPE = b"text/html; charset=utf-8"
POLICY = ((b"content-security-policy", b"default-src 'none'"), (b"x-content-type-options", b"nosniff"))


def error_page() -> bytes:
    entries = "".join(
        f'<dt id="{escape(code)}"><code>{escape(code)}</code> ({refusal.status})</dt><dd>{escape(refusal.title)}.</dd>'
        for code, refusal in REFUSALS.items()
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>postroad: errors</title></head><body>'
        f"<h1>Errors</h1><p>The detail of an error says what to do next.</p><dl>{entries}</dl></body></html>"
    ).encode()


PAGE = error_page()


def serve_error_page(request: FastRequest, reply: FastReply) -> None:
    reply(200, PAGE, CONTENT_TYPE, POLICY)
