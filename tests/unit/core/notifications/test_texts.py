"""The texts of notifications, word for word."""

from __future__ import annotations

from postroad.core.model.subscription import Severity
from postroad.core.notifications.catalog import EVENTS
from postroad.core.notifications.digests import Notification, NotificationLine
from postroad.core.notifications.texts import write_document, write_short_text, write_subject, write_text
from postroad.testing.clocks import EPOCH_US
from tests.samples.subscriptions import MINUTE

URL = "https://hub.example"
LETTERS = Notification(
    id="0a" * 16,
    event="dead-letter",
    organization="Acme",
    subscription="ops",
    severity=Severity.ERROR,
    at_us=EPOCH_US + 15 * MINUTE,
    count=12,
    lines=(
        NotificationLine("Acme/Supply, tls", "its certificate is not accepted", 11, EPOCH_US, EPOCH_US + MINUTE),
        NotificationLine("Acme/Shop, refused", "", 1, EPOCH_US, EPOCH_US),
    ),
    left_out=3,
)
RECOVERED = Notification(
    id="0b" * 16,
    event="push.failing",
    organization="Acme",
    subscription="ops",
    severity=Severity.INFO,
    at_us=EPOCH_US,
    count=0,
    lines=(NotificationLine("Acme/Supply", "", 0, EPOCH_US, EPOCH_US + MINUTE, recovered=True),),
)


def test_an_email_says_what_happened_how_often_and_what_to_do() -> None:
    assert write_subject(LETTERS) == "[postroad] Dead letters (12): Acme"
    assert write_text(LETTERS, URL) == (
        "Deliveries failed permanently. Both the sender and the owner of the service are notified, by service and cause.\n"
        "\n"
        "- Acme/Supply, tls, 11 times from 2026-09-21T14:13:20Z to 2026-09-21T14:14:20Z: its certificate is not accepted\n"
        "- Acme/Shop, refused, at 2026-09-21T14:13:20Z\n"
        "- 3 more causes, which are not listed\n"
        "\n"
        "What to do: Fix the cause, then resend or drop the dead letters.\n"
        "\n"
        "Details: https://hub.example/dead-letters\n"
        "\n"
        "Sent for the subscription 'ops' of Acme, at most once in its digest time. "
        "Change it: https://hub.example/notifications\n"
    )


def test_a_recovery_says_only_that() -> None:
    assert write_subject(RECOVERED) == "[postroad] Recovered: Pushes fail: Acme/Supply"
    text = write_text(RECOVERED, URL)
    assert text.startswith("Recovered: Pushes fail.\n\n- Acme/Supply, recovered at 2026-09-21T14:14:20Z\n")
    assert "What to do" not in text


def test_a_chat_gets_a_few_lines() -> None:
    lines = write_short_text(LETTERS, URL).splitlines()
    assert lines[0] == write_subject(LETTERS)
    assert lines[-1] == "https://hub.example/dead-letters"
    assert len(lines) == 5


def test_programs_get_the_same_facts() -> None:
    document = write_document(LETTERS, URL)
    assert (document["id"], document["event"], document["severity"]) == ("0a" * 16, "dead-letter", "error")
    assert (document["count"], document["moreCauses"], document["recovered"]) == (12, 3, False)
    assert document["causes"][0] == {
        "subject": "Acme/Supply, tls",
        "detail": "its certificate is not accepted",
        "count": 11,
        "first": "2026-09-21T14:13:20Z",
        "last": "2026-09-21T14:14:20Z",
        "recovered": False,
    }


def test_every_event_has_sentences() -> None:
    for kind in EVENTS:
        for text in (kind.meaning, kind.advice):
            assert text[0].isupper(), kind.name
            assert text.endswith("."), kind.name
        assert kind.page.startswith("/")
        assert not kind.title.endswith(".")
