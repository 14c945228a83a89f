"""The catalogue of reasons: why pushes and deliveries fail, as codes, and the text of each for people.

Rule: programs compare codes, never texts; a text may be reworded at any time, a code never changes. The journal stores both:
the text as it was shown then, and the code with its values. The value ``detail`` is the text of another party, which the
reason's text quotes; it is not stored a second time. A code that is not listed here belongs to a refusal
(``core.model.refusals``) or to a service; its text is the code and the detail.
"""

from __future__ import annotations

from postroad.core.model.reason import Reason

DETAIL = "detail"
MAX_REASON = 500

TEXTS: dict[str, str] = {
    # the receiver responded
    "push.refused": "the receiver refused it with {status}; see whether its address and authentication are right",
    "push.server-error": "the receiver answered {status}",
    "push.redirected": (
        "the receiver answered {status}: redirects are not followed; set the push address that it leads to"
    ),
    "push.gone": "the receiver answered {status}: this address is gone; set another push address",
    # the response cannot be used
    "push.response-refused": "the response in the answer was refused: {detail}",
    "push.not-http": "what it answered is not HTTP",
    "push.protocol-switch": "it answered by switching to another protocol; answer with 2xx",
    "push.head-too-long": "the head of its answer is longer than {bytes} bytes or {fields} fields",
    "push.answer-too-long": (
        "its answer is longer than {bytes} bytes; answer with less, post the response instead, "
        "or have the operator raise push_answer_bytes"
    ),
    "push.answer-compressed": "its answer is compressed ({encoding}), which was not asked for; answer without",
    # there was no response
    "push.no-answer": "there was no answer",
    "push.timeout": "it did not answer completely in time",
    "push.connect-timeout": "it did not accept the connection in time",
    "push.closed": "it closed the connection without an answer",
    "push.cut-short": "it closed the connection before its answer was complete",
    "push.broken-off": "it reset the connection",
    # there was no connection
    "push.nothing-listens": "nothing listens on that port",
    "push.unreachable": "it cannot be reached ({detail})",
    "push.name-servers": "its name servers did not answer in time",
    "push.certificate": "its certificate was not accepted: {detail}",
    "push.tls": "TLS failed: {detail}",
    "push.client-certificate": "the network's client certificate cannot be read ({detail}); tell its operator",
    "push.address-not-allowed": (
        "{host} cannot be pushed to: the host does not exist, or its address is not allowed; check the name, "
        "use a public host by https, or have the operator allow it in {settings}"
    ),
    "push.url": "The push URL cannot be used: {detail}",
    "push.header": "the header {header} cannot be sent as it is",
    "push.parts": "part of the message cannot be sent: {detail}",
    # AS2
    "as2.waiting": "waiting for the asynchronous MDN",
    "as2.no-receipt": "the partner returned no valid MDN; the message was sent {count:times}",
    "as2.receipt-missing": "its response contains no MDN: {detail}",
    "as2.message": "the AS2 message cannot be made: {detail}",
    "as2.rejected": "{detail}",
    "as2.altered": "{detail}",
    "as2.unproven": "{detail}",
    # in transit
    "delivery.not-acknowledged": "handed out {count:times} without being acknowledged",
    "delivery.expired": "not fetched before it expired",
    "delivery.expired-in-batch": "not fetched before it expired, in a batch that was not sent",
    "delivery.kept-too-long": "it waited longer than the {seconds} s for which its receiver keeps messages",
    "delivery.withdrawn": "withdrawn by its sender",
    "service.error": "{by} answered {status} {detail}",
    "route.no-return": "The response had no valid way back: {detail}",
    # batches
    "batch.dropped": "batch {batch} dropped: {detail}",
    "batch.taken-out": "removed from batch {batch}: {detail}",
    "other": "{detail}",
}
AT_HOST = "{host}: {text}"
AT_BACKUP = "{text} (at the backup)"
AFTER_TRIES = "{text}; tried {tries:times}"
_HOST_INSIDE = frozenset({"push.address-not-allowed"})


class _Value(str):
    """A value in a text; the format ``times`` shows a number as "once" or "N times"."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return times_text(int(self)) if spec == "times" and self else str(self)


class _Values(dict[str, _Value]):
    """Values for a text; missing values are empty."""

    def __missing__(self, name: str) -> _Value:
        return _Value()


def make_reason(code: str, **values: object) -> Reason:
    """Return the reason with that code and values."""
    return Reason(code, tuple([(name, str(value)) for name, value in values.items()]))


def add_values(reason: Reason, **values: object) -> Reason:
    """Return the reason with more values: ``host``, ``backup`` or ``tries``."""
    return Reason(reason.code, (*reason.values, *make_reason("", **values).values))


def reason_text(reason: Reason) -> str:
    """Return the reason's text for people."""
    values = _Values({name: _Value(value) for name, value in reason.values})
    code = reason.code
    text = TEXTS[code].format_map(values).rstrip() if code in TEXTS else f"{code}: {values[DETAIL]}"
    if values["host"] and code not in _HOST_INSIDE:
        text = AT_HOST.format(host=values["host"], text=text)
    if values["backup"]:
        text = AT_BACKUP.format(text=text)
    return AFTER_TRIES.format(text=text, tries=values["tries"]) if values["tries"] else text


def stored_reason(reason: Reason) -> Reason:
    """Return the reason as the journal stores it beside its text: without the value ``detail``."""
    return Reason(reason.code, tuple([(name, value) for name, value in reason.values if name != DETAIL]))


def times_text(number: int) -> str:
    """Return "once" or "N times"."""
    return "once" if number == 1 else f"{number} times"
