"""Hands e-mail to a mail server by SMTP, with TLS from the start (``smtps``) or by STARTTLS (``smtp``).

Rules: without TLS nothing is sent, except to this machine or if the address says ``?tls=none``. The program's own threads send,
so that a mail server that does not respond delays nothing else. No behaviour of the server is raised as an exception.
"""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime, formataddr
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from postroad.core.model.mail import Mail
from postroad.ports import Clock

TIMEOUT_S = 30.0
THREADS = 2
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
PORTS = {"smtp": 587, "smtps": 465}
MAX_FAULT = 300
LONG_LINES = policy.SMTP.clone(max_line_length=990)  # or a long link in a header would be folded or encoded


class MailServer(NamedTuple):
    """A mail server, as the setting ``smtp_url`` names it."""

    host: str
    port: int
    tls: str  # starttls, tls or none
    user: str = ""
    password: str = ""

    @classmethod
    def of(cls, url: str) -> MailServer:
        """Read an address; raises ValueError with what is wrong with it, and without the password."""
        parts = urlsplit(url)
        try:
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port = "", None
        options = parse_qs(parts.query)
        if parts.scheme not in PORTS or not host or parts.path not in ("", "/") or options.keys() - {"tls"}:
            raise ValueError("must look like smtp://user:password@mail.example.com:587 or smtps://mail.example.com")
        wanted = options.get("tls", [""])[0]
        if wanted not in ("", "none", "starttls") or (wanted and parts.scheme == "smtps"):
            raise ValueError("the only options are ?tls=none and ?tls=starttls, for smtp")
        tls = "tls" if parts.scheme == "smtps" else wanted or ("none" if host in LOCAL else "starttls")
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        return cls(host, port or PORTS[parts.scheme], tls, user, password)


class SmtpMailer:
    """Sends each e-mail over a connection of its own."""

    def __init__(
        self,
        server: MailServer,
        sender: str,
        clock: Clock,
        *,
        authorities: str = "",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._server = server
        self._sender = sender
        self._clock = clock
        self._authorities = authorities
        self._timeout_s = timeout_s
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="mail")

    async def send(self, mail: Mail) -> str:
        message = build_email(mail, self._sender, self._clock.now_us())
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._deliver, message)
        except smtplib.SMTPRecipientsRefused as error:
            return _describe_refused(error)
        except smtplib.SMTPResponseException as error:
            return f"the mail server answered {error.smtp_code} {_text(error.smtp_error)}"[:MAX_FAULT]
        except (OSError, smtplib.SMTPException, ValueError) as error:
            return f"the mail server {self._server.host}:{self._server.port} cannot be used: {error}"[:MAX_FAULT]
        return ""

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _deliver(self, message: EmailMessage) -> None:
        server, tls = self._server, ssl.create_default_context()
        if self._authorities:
            tls.load_verify_locations(self._authorities)
        with self._connect(tls) as connection:
            if server.tls == "starttls":
                connection.starttls(context=tls)
            if server.user:
                connection.login(server.user, server.password)
            connection.send_message(message)

    def _connect(self, tls: ssl.SSLContext) -> smtplib.SMTP:
        server = self._server
        if server.tls == "tls":
            return smtplib.SMTP_SSL(server.host, server.port, timeout=self._timeout_s, context=tls)
        connection = smtplib.SMTP(server.host, server.port, timeout=self._timeout_s)
        connection.ehlo_or_helo_if_needed()
        return connection


def build_email(mail: Mail, sender: str, now_us: int) -> EmailMessage:
    """Return the e-mail with its headers."""
    domain = sender.rpartition("@")[2].rstrip(">")
    message = EmailMessage(policy=LONG_LINES)
    message["From"] = sender if "<" in sender else formataddr(("postroad", sender))
    message["To"] = mail.to
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(datetime.fromtimestamp(now_us / 1_000_000, UTC))
    message["Message-ID"] = f"<{mail.id}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    if mail.unsubscribe:
        message["List-Unsubscribe"] = f"<{mail.unsubscribe}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(mail.text)
    return message


def _describe_refused(error: smtplib.SMTPRecipientsRefused) -> str:
    code, text = next(iter(error.recipients.values()))
    return f"the mail server refused the recipient: {code} {_text(text)}"[:MAX_FAULT]


def _text(given: bytes | str) -> str:
    text = given.decode("utf-8", "replace") if isinstance(given, bytes) else given
    return " ".join(text.split())
