"""The reference page of notifications, written from the catalog of events."""

from __future__ import annotations

from postroad.core.notifications.catalog import EVENTS, Audience, EventKind
from postroad.core.notifications.digests import GATHER_US, MAX_LINES, SECOND_US

INTRODUCTION = f"""# Notifications

<!-- Written by `python -m scripts.reference_pages`; a test compares. Change core/notifications/catalog.py, not this page. -->

How to subscribe: [Get notified](../howto/get-notified.md).

A subscription receives at most one notification of each event in its digest time (`digestMinutes`, default 15). The first
one is sent after {GATHER_US // SECOND_US} seconds, which joins the events of a storm; it has the number of events, and up to
{MAX_LINES} causes with their own numbers and times. An event with an end has a last notification, "Recovered". Events whose
cause ends before it was reported are not reported. A notification that cannot be sent is tried again after 1, 2, 4 … minutes,
at least once an hour; meanwhile, further events are counted. Notifications contain no content of messages.

Names of events never change their meaning. A newer version may add events; a subscription without `events` receives them, too.
"""

DOCUMENT = """
## The JSON document

Messages and webhooks carry this document:

| Field | Meaning |
|---|---|
| `id` | The same when a notification is sent again: Idempotency-Key, part of the Message-ID, and `webhook-id` after `msg_` |
| `event` | Name of the event; `test` for a test |
| `severity` | `info`, `warning` or `error` |
| `organization`, `subscription` | Whose subscription it is sent for; the operators' organization is empty |
| `at` | When the notification was made |
| `title` | One line of text |
| `recovered` | True if it only reports that causes have ended |
| `count` | Number of events |
| `causes` | Each with `subject`, `detail`, `count`, `first`, `last` and `recovered` |
| `moreCauses` | Number of causes that are not listed |
| `advice` | What to do |
| `url` | Page of the console |

Webhooks are signed as pushes are, by [Standard Webhooks](../howto/receive-by-push.md). Messages come from
`Network/Notifications`, with the topic `notification.EVENT`.
`slack` posts `{"text": …}`, which Slack, Mattermost, Rocket.Chat and others accept.
"""


def render() -> str:
    """Return the page."""
    pieces = [INTRODUCTION]
    for audience, title in (
        (Audience.ORGANIZATION, "For members of an organization"),
        (Audience.OPERATORS, "For operators"),
    ):
        pieces += [f"\n## {title}\n"]
        pieces += [_event(kind) for kind in EVENTS if kind.audience is audience]
    return "".join(pieces) + DOCUMENT


def _event(kind: EventKind) -> str:
    ends = " It has an end." if kind.recovers else ""
    return (
        f"\n### `{kind.name}`\n\n{kind.meaning} Severity: {kind.severity.value}.{ends}\n\nWhat to do: {kind.advice}\n"
    )
