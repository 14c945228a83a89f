"""Reasons recorded before there were codes still have their causes."""

from __future__ import annotations

import pytest

from postroad.core.delivery.dead_letters import Cause, cause_of
from postroad.core.delivery.legacy_reasons import find_old_code

RECORDED = [
    ("the receiver answered 500", Cause.SERVER_ERROR),
    ("the receiver answered 503; tried 9 times", Cause.SERVER_ERROR),
    ("the receiver answered 503 (at the backup); tried 9 times", Cause.SERVER_ERROR),
    ("the receiver answered 429; tried once", Cause.SERVER_ERROR),
    ("the receiver answered 302: redirects are not followed; set the push address that it leads to", Cause.REDIRECTED),
    ("the receiver answered 410: this address is gone; set another push address; tried 9 times", Cause.REDIRECTED),
    ("the receiver refused it with 404; see whether its address and authentication are right", Cause.REFUSED),
    ("acme.example: nothing listens on that port; tried 9 times", Cause.UNREACHABLE),
    ("acme.example: it broke the connection off; tried 9 times", Cause.NO_ANSWER),
    ("acme.example: it did not accept the connection in time", Cause.NO_ANSWER),
    ("acme.example: it cannot be reached (No route to host)", Cause.UNREACHABLE),
    ("acme.example: its name servers did not answer in time", Cause.UNREACHABLE),
    ("acme.example: TLS failed: wrong version number", Cause.TLS),
    ("acme.example: its certificate was not accepted: certificate has expired", Cause.TLS),
    ("the network's client certificate cannot be read (No such file or directory); tell its operator", Cause.TLS),
    ("it closed the connection before its answer was complete", Cause.NO_ANSWER),
    ("it answered by switching to another protocol; answer with 2xx", Cause.BAD_ANSWER),
    ("the head of its answer is longer than 16384 bytes or 100 fields", Cause.BAD_ANSWER),
    ("its answer is compressed (gzip), which was not asked for; answer without", Cause.BAD_ANSWER),
    ("its answer holds no receipt: it is no multipart/report", Cause.BAD_ANSWER),
    ("the header 'x' cannot be sent as it is", Cause.PUSH_SETTINGS),
    ("The partner did not take the message: automatic-action/MDN-sent-automatically; failed", Cause.OTHER),
    ("the partner sent no receipt that counts, though it was sent 9 times", Cause.OTHER),
    ("body.dropped: its documents are no longer kept", Cause.OTHER),
    ("taken out of batch 01a1e1845d2ac5dc5867: ordered twice", Cause.OTHER),
    ("handed out 20 times without being acknowledged", Cause.NOT_ACKNOWLEDGED),
    ("route.failed: handed out 3 times without being acknowledged", Cause.NOT_ACKNOWLEDGED),
    ("route.failed: Stamps/Stamper answered no-ink the pad is dry", Cause.IN_TRANSIT),
    ("route.failed: Stamps/Stamper answered x handed out 3 times", Cause.IN_TRANSIT),
    ("route.failed: Stamps/Stamper answered down its press: nothing listens there", Cause.IN_TRANSIT),
    ("route.failed: Stamps/Stamper answered odd use push.url instead", Cause.IN_TRANSIT),
    ("route.failed: The response had no valid way back: nobody", Cause.MISROUTED),
    ("mediation.lossy: part 1: its id has no place in dime", Cause.NOT_WHOLE),
    ("route.failed: mediation.lossy: the property x has no place in cloudevents", Cause.NOT_WHOLE),
    ("interchange.malformed: interchange 1: byte 4: no (x12.isa)", Cause.INTERCHANGE),
    ("interchange.duplicate: interchange 1 of ACME came before", Cause.INTERCHANGE),
    ("route.loop: A/B comes twice", Cause.MISROUTED),
    ("policy.transport: A/B asks for TLS", Cause.MISROUTED),
    (
        "acme.example leads to an address outside the public Internet (private); use a public one",
        Cause.ADDRESS_NOT_ALLOWED,
    ),
    ("acme.example may not be pushed to without TLS; use https", Cause.ADDRESS_NOT_ALLOWED),
    ("acme.example cannot be pushed to: the host does not exist, or its address", Cause.ADDRESS_NOT_ALLOWED),
    ("The push URL cannot be used: its host is not a name", Cause.ADDRESS_NOT_ALLOWED),
    ("acme.example: there is no such host; check the push URL and its DNS", Cause.UNREACHABLE),
    ("it did not answer completely in time; tried 9 times", Cause.NO_ANSWER),
    ("it closed the connection without an answer", Cause.NO_ANSWER),
    ("there was no answer", Cause.NO_ANSWER),
    ("what it answered is not HTTP", Cause.BAD_ANSWER),
    ("its answer is longer than 65536 bytes; answer with less", Cause.BAD_ANSWER),
    ("the response in the answer was refused: [reference.invalid] x", Cause.BAD_ANSWER),
    ("The secret that push.secretFrom names cannot sign: x", Cause.PUSH_SETTINGS),
    ("push.settings: file:hook: the operator has put no such file in push-secrets", Cause.PUSH_SETTINGS),
    ("route.failed: push.settings: anything at all", Cause.PUSH_SETTINGS),
    ("file:hook: the operator has put no such file in push-secrets; tried 3 times", Cause.PUSH_SETTINGS),
    ("env:PUSH_SECRET_X: the operator has not set this variable", Cause.PUSH_SETTINGS),
    ("handed out once without being acknowledged", Cause.NOT_ACKNOWLEDGED),
    ("file:hook: this file cannot be read as text", Cause.PUSH_SETTINGS),
    ("env:X: there is no such secret", Cause.OTHER),
    ("", Cause.OTHER),
    ("for a test", Cause.OTHER),
]


@pytest.mark.parametrize("prefix", ["", "route.failed: "], ids=["plain", "of a journey"])
@pytest.mark.parametrize(("reason", "cause"), RECORDED)
def test_a_recorded_reason_has_its_cause(reason: str, cause: Cause, prefix: str) -> None:
    text = reason if reason.startswith("route.failed: ") else prefix + reason
    assert cause_of("", text) is cause


def test_only_known_texts_have_a_code() -> None:
    assert find_old_code("route.failed: the receiver answered 503; tried 9 times") == "push.server-error"
    assert find_old_code("interchange.unfit: it is too long") == "interchange.unfit"
    assert find_old_code("for a test") == ""
