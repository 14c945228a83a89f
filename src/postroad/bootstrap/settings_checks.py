"""Checks between settings: each is a condition that must hold, and the error if it does not.

Rule: an error begins with the name of its setting, so that values that could not be read are not reported twice.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from postroad.adapters.mail.smtp import MailServer
from postroad.adapters.transport.permission import Permission

if TYPE_CHECKING:
    from postroad.bootstrap.settings import Settings


MAIL_SENDER = re.compile(r"[^@\s<>]+@[^@\s<>]+|[^<>\r\n]+ <[^@\s<>]+@[^@\s<>]+>")


Checks = list[tuple[bool, str]]  # conditions that must hold, each with its error


def find_contradictions(settings: Settings) -> list[str]:
    """Return one error for each condition that does not hold."""
    checks = [*_check_stores(settings), *_check_limits(settings), *_check_reports(settings)]
    return [fault for holds, fault in checks if not holds] + _find_push_errors(settings) + _find_mail_errors(settings)


def _check_stores(settings: Settings) -> Checks:
    """Return the checks of stores, keys and the listener."""
    return [
        (settings.acceptance in ("local", "shared"), 'acceptance: must be "local" or "shared"'),
        (settings.index in ("sqlite", "postgres", "memory"), 'index: must be "sqlite", "postgres" or "memory"'),
        (settings.acceptance == "local" or bool(settings.postgres), "postgres: needed for acceptance = shared"),
        (settings.index != "postgres" or bool(settings.postgres), "postgres: needed for index = postgres"),
        (
            settings.acceptance == "local" or settings.index == "postgres",
            "index: must be postgres when acceptance is shared",
        ),
        (
            settings.acceptance == "local" or bool(settings.secret),
            "secret: every node needs the same one (64 hex digits)",
        ),
        (not settings.secret or _is_hex(settings.secret), "secret: must be 64 hex digits"),
        (
            sum(map(bool, (settings.master_key, settings.master_key_file, settings.master_key_command))) <= 1,
            "master_key: set only one of master_key, master_key_file and master_key_command",
        ),
        (bool(settings.tls_certificate) == bool(settings.tls_key), "tls_certificate and tls_key: set both or neither"),
        (0 <= settings.port <= 65_535, "port: must be between 0 and 65535"),
        (settings.message_bytes > 0, "message_bytes: must be positive"),
        (settings.bulk_bytes >= settings.message_bytes, "bulk_bytes: must not be less than message_bytes"),
        (settings.segment_bytes >= 1 << 16, "segment_bytes: must be at least 65536"),
        (0 <= settings.strict_transport_days <= 3_650, "strict_transport_days: must be between 0 and 3650"),
    ]


def _check_limits(settings: Settings) -> Checks:
    """Return the checks of limits."""
    return [
        (settings.posts_per_s >= 0, "posts_per_s: must not be negative"),
        (
            settings.registration in ("open", "approval", "closed"),
            'registration: must be "open", "approval" or "closed"',
        ),
        (
            min(settings.new_posts_per_s, settings.new_stored_bytes, settings.new_queued_messages) >= 0,
            "new_posts_per_s, new_stored_bytes and new_queued_messages: must not be negative",
        ),
        (settings.stored_bytes >= 0, "stored_bytes: must not be negative"),
        (settings.queued_messages >= 0, "queued_messages: must not be negative"),
        (0 <= settings.memory_most_share <= 1, "memory_most_share: must be between 0 and 1"),
        (settings.waiting_most >= 0, "waiting_most: must not be negative"),
        (settings.registrations_per_day >= 0, "registrations_per_day: must not be negative"),
        (settings.open_support_requests >= 0, "open_support_requests: must not be negative"),
        (settings.keep_bodies_days >= 0, "keep_bodies_days: must not be negative"),
        (settings.attempts_most >= 1, "attempts_most: must be at least 1"),
        (1 <= settings.push_timeout_s <= 300, "push_timeout_s: must be between 1 and 300"),
        (settings.push_answer_bytes >= 0, "push_answer_bytes: must not be negative"),
    ]


def _check_reports(settings: Settings) -> Checks:
    """Return the checks of logs, metrics and traces."""
    return [
        (
            settings.log_level in ("debug", "info", "warning", "error"),
            "log_level: must be debug, info, warning or error",
        ),
        (settings.log_form in ("words", "json"), 'log_form: must be "words" or "json"'),
        (-1 <= settings.drain_notice_s <= 300, "drain_notice_s: must be between 0 and 300, or -1"),
        (
            not settings.metrics_listen or _is_address(settings.metrics_listen),
            f"metrics_listen: must be ADDRESS:PORT, such as 127.0.0.1:9470, not {settings.metrics_listen!r}",
        ),
        (0 <= settings.metrics_services <= 1_000, "metrics_services: must be between 0 and 1000"),
        (
            _is_http_address(settings.traces_to),
            f"traces_to: {settings.traces_to!r} is not an http:// or https:// address",
        ),
        (0.0 <= settings.traces_share <= 1.0, "traces_share: must be between 0 and 1"),
        (settings.traces_slow_s >= 1, "traces_slow_s: must be at least 1"),
        (settings.traces_per_s >= 1, "traces_per_s: must be at least 1"),
        (settings.traces_patience_s >= 0, "traces_patience_s: must not be negative"),
        (settings.traces_join in ("parent", "link"), 'traces_join: must be "parent" or "link"'),
    ]


def _find_mail_errors(settings: Settings) -> list[str]:
    """Return errors in the mail server and the sender of e-mail."""
    if not settings.smtp_url:
        return []
    faults = (
        []
        if MAIL_SENDER.fullmatch(settings.smtp_from)
        else ["smtp_from: must be an e-mail address; it sends the e-mail"]
    )
    try:
        MailServer.of(settings.smtp_url)
    except ValueError as error:
        faults.append(f"smtp_url: {error}")
    return faults


def _find_push_errors(settings: Settings) -> list[str]:
    """Return errors in the networks that pushes may reach, such as a mistyped network that was read as a name."""
    faults: list[str] = []
    for name, lists in (
        ("push_allow_private", (settings.push_allow_private, ())),
        ("push_allow_http", ((), settings.push_allow_http)),
    ):
        try:
            Permission.of(*lists)
        except ValueError as error:
            faults.append(f"{name}: {error}")
    return faults


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isascii() and port.isdecimal() and int(port) <= 65_535


def _is_http_address(text: str) -> bool:
    """Return True for an address without a query, or for empty text."""
    parts = urlsplit(text)
    return not text or (parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query)


def _is_hex(text: str) -> bool:
    return len(text) == 64 and all(digit in "0123456789abcdefABCDEF" for digit in text)
