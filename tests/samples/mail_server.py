"""A real mail server on loopback for tests: keeps what it accepts, with TLS, authentication and refusals as a test wants them."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from postroad.testing.ports import free_port
from tests.waiting import eventually

USER, PASSWORD = "hub", "p@ss word"


@dataclass
class MailBoxes:
    """What a mail server accepted, and what it refuses."""

    accepted: list[EmailMessage] = field(default_factory=list)
    envelopes: list[Envelope] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # recipients, and the answer to each

    async def handle_RCPT(  # noqa: N802 - the server's name for it
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content if isinstance(envelope.content, bytes) else b""
        self.accepted.append(message_from_bytes(content, policy=policy.default))
        self.envelopes.append(envelope)
        self.encrypted.append(session.ssl is not None)
        return "250 OK"

    def to(self, address: str) -> list[EmailMessage]:
        return [one for one in list(self.accepted) if one["to"] == address]

    def wait_for(self, address: str, number: int = 1) -> EmailMessage:
        """Wait for an e-mail to this address, and return it."""
        eventually(lambda: len(self.to(address)) >= number, why=f"no e-mail to {address}")
        return self.to(address)[number - 1]

    def text(self, number: int = -1) -> str:
        return str(self.accepted[number].get_content()).replace("\r\n", "\n")


@dataclass
class RunningMailServer:
    """The server; it may be stopped and started again on its port."""

    boxes: MailBoxes
    port: int
    options: dict[str, Any]
    smtps: ssl.SSLContext | None = None
    controller: Controller | None = None

    def start(self) -> None:
        self.controller = Controller(
            self.boxes, hostname="127.0.0.1", port=self.port, ssl_context=self.smtps, **self.options
        )
        self.controller.start()

    def stop(self) -> None:
        if self.controller is not None:
            self.controller.stop()
            self.controller = None

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"


def server_tls(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Return a TLS context for localhost, and the file of its authority."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost", "127.0.0.1").configure_cert(context)
    file = folder / "mail-authority.pem"
    authority.cert_pem.write_to_path(str(file))
    return context, file


def check_login(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
    good = LoginPassword(USER.encode(), PASSWORD.encode())
    return AuthResult(success=data == good, handled=False)


@contextmanager
def mail_server(*, smtps: ssl.SSLContext | None = None, **options: Any) -> Iterator[RunningMailServer]:
    """A mail server until the end of the block; ``options`` are those of aiosmtpd."""
    server = RunningMailServer(MailBoxes(), free_port(), options, smtps)
    server.start()
    try:
        yield server
    finally:
        server.stop()
