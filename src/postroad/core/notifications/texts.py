"""The texts of notifications, in plain English, and the documents that are made of them.

Rule: a text never contains content of messages; it has names, numbers, times and the meaning of a cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from postroad.core.codecs.lexical import write_time
from postroad.core.notifications.catalog import find_kind
from postroad.core.notifications.digests import Notification, NotificationLine

PRODUCT = "postroad"


def write_subject(notification: Notification) -> str:
    """Return one line: the subject of an e-mail."""
    kind = find_kind(notification.event)
    if notification.is_recovery:
        return f"[{PRODUCT}] Recovered: {kind.title}{_where(notification)}"
    number = f" ({notification.count})" if notification.count > 1 else ""
    return f"[{PRODUCT}] {kind.title}{number}{_where(notification)}"


def _where(notification: Notification) -> str:
    """Return what it is about, if that is one thing."""
    if len(notification.lines) == 1 and not notification.left_out:
        return f": {notification.lines[0].subject}"
    return f": {notification.organization}" if notification.organization else ""


def write_text(notification: Notification, url: str) -> str:
    """Return the text of an e-mail; ``url`` is the address of the network."""
    kind = find_kind(notification.event)
    paragraphs = [kind.meaning if not notification.is_recovery else f"Recovered: {kind.title}."]
    paragraphs.append("\n".join(_lines(notification)))
    if not notification.is_recovery:
        paragraphs.append(f"What to do: {kind.advice}")
    paragraphs.append(f"Details: {url}{kind.page}")
    paragraphs.append(_footer(notification, url))
    return "\n\n".join(paragraphs) + "\n"


def write_short_text(notification: Notification, url: str) -> str:
    """Return the text for a chat."""
    kind = find_kind(notification.event)
    return "\n".join([write_subject(notification), *_lines(notification), f"{url}{kind.page}"])


def write_document(notification: Notification, url: str) -> dict[str, Any]:
    """Return the notification as JSON, for messages and webhooks."""
    kind = find_kind(notification.event)
    return {
        "id": notification.id,
        "event": notification.event,
        "severity": notification.severity.value,
        "organization": notification.organization,
        "subscription": notification.subscription,
        "at": write_time(notification.at_us),
        "title": write_subject(notification),
        "recovered": notification.is_recovery,
        "count": notification.count,
        "causes": [
            {
                "subject": line.subject,
                "detail": line.detail,
                "count": line.count,
                "first": write_time(line.first_at_us),
                "last": write_time(line.last_at_us),
                "recovered": line.recovered,
            }
            for line in notification.lines
        ],
        "moreCauses": notification.left_out,
        "advice": kind.advice,
        "url": f"{url}{kind.page}",
    }


def _lines(notification: Notification) -> Iterator[str]:
    for line in notification.lines:
        yield f"- {line.subject}{_times(line)}{f': {line.detail}' if line.detail else ''}"
    if notification.left_out:
        yield f"- {notification.left_out} more causes, which are not listed"


def _times(line: NotificationLine) -> str:
    if line.recovered:
        return f", recovered at {write_time(line.last_at_us)}"
    if line.count == 1:
        return f", at {write_time(line.first_at_us)}"
    return f", {line.count} times from {write_time(line.first_at_us)} to {write_time(line.last_at_us)}"


def _footer(notification: Notification, url: str) -> str:
    owner = notification.organization or "the operators"
    return (
        f"Sent for the subscription {notification.subscription!r} of {owner}, at most once in its digest time. "
        f"Change it: {url}/notifications"
    )
