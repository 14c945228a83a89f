"""Recognises the reasons of journal entries that were written before reasons had codes.

Rule: only texts of old entries are read here, so these expressions never change, even if texts do. New entries have codes.
A text that matches none of them has no code, and the cause ``other``.
"""

from __future__ import annotations

import re

_CODED = re.compile(r"route\.failed: ")
_CODES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), code)
    for pattern, code in (
        (r"[^/:]+/[^/:]+ answered ", "service.error"),  # first: the rest is the service's own text
        (r"push\.settings: ", "push.settings"),
        (  # the oldest reasons about secrets
            r"(file|env):.*(the operator has |is empty|lies outside the folder|cannot be read as text|this service may name)",
            "push.settings",
        ),
        (r"handed out (once|\d+ times)", "delivery.not-acknowledged"),
        (r"the receiver refused it with \d", "push.refused"),
        (r"the receiver answered 410\b", "push.gone"),
        (r"the receiver answered 3\d\d\b", "push.redirected"),
        (r"the receiver answered \d", "push.server-error"),
        (r"mediation\.lossy: ", "mediation.lossy"),
        (r"(?P<code>interchange\.[\w-]+|wire\.too-complex): ", ""),
        (r"The response had no valid way back", "route.no-return"),
        (r"(?P<code>(route|policy|recipient|rule)\.[\w-]+): ", ""),
        (r"the response in the answer was refused", "push.response-refused"),
        (r"what it answered", "push.not-http"),
        (r"its answer holds no receipt", "as2.receipt-missing"),
        (r"its answer ", "push.answer-too-long"),
        (r"the head of its answer", "push.head-too-long"),
        (r"it answered by switching", "push.protocol-switch"),
        (r"(.*: )?its certificate was not accepted", "push.certificate"),
        (r"(.*: )?TLS failed", "push.tls"),
        (r"(.*: )?the network's client certificate", "push.client-certificate"),
        (r"(.*: )?nothing listens", "push.nothing-listens"),
        (r"(.*: )?(it cannot be reached|there is no such host)", "push.unreachable"),
        (r"(.*: )?its name servers", "push.name-servers"),
        (r"(.*: )?it did not", "push.timeout"),
        (r"(.*: )?it closed", "push.closed"),
        (r"(.*: )?it broke", "push.broken-off"),
        (r"there was no answer", "push.no-answer"),
        (r"\S+ (leads to an address|may not be pushed to|cannot be pushed to)", "push.address-not-allowed"),
        (r"The push URL", "push.url"),
        (r"(The secret|The format|The service's profile|.*push\.|.*secretFrom)", "push.settings"),
        (r"the header ", "push.header"),
    )
)


def find_old_code(reason: str) -> str:
    """Return the code of a reason that was stored without a code; empty if it is unknown."""
    text = _CODED.sub("", reason, count=1) if reason.startswith("route.failed: ") else reason
    for pattern, code in _CODES:
        if found := pattern.match(text):
            return code or found["code"]
    return ""
