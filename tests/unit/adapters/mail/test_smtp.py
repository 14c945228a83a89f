"""E-mail over a real mail server: TLS, authentication, refusals, and a server that is away and comes back."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from postroad.adapters.mail.smtp import MailServer, SmtpMailer, build_email
from postroad.core.model.mail import Mail
from postroad.testing.clocks import EPOCH_US, ManualClock
from tests.samples.mail_server import PASSWORD, USER, check_login, mail_server, server_tls

SENDER = "Hub <hub@hub.example>"
MAIL = Mail(
    to="ops@acme.example",
    subject="[postroad] Zürich: 12 dead letters",
    text="Grüße\n.a line that begins with a dot\n" + "long " * 400 + "\n",
    id="0a" * 16,
    unsubscribe="https://hub.example/notifications/unsubscribe?token=" + "abc.def" * 40,
)


def mailer(url: str, authorities: str | Path = "", timeout_s: float = 30.0) -> SmtpMailer:
    return SmtpMailer(MailServer.of(url), SENDER, ManualClock(), authorities=str(authorities), timeout_s=timeout_s)


async def send(url: str, authorities: str | Path = "", mail: Mail = MAIL) -> str:
    sender = mailer(url, authorities)
    try:
        return await sender.send(mail)
    finally:
        await sender.close()


@pytest.mark.req("O8")
async def test_an_email_arrives_as_it_was_written_with_its_headers() -> None:
    with mail_server() as server:
        assert await send(server.url) == ""
        [mail] = server.boxes.accepted
        assert (mail["from"], mail["to"], mail["subject"]) == (SENDER, MAIL.to, MAIL.subject)
        assert mail["message-id"] == f"<{'0a' * 16}@hub.example>"
        assert mail["list-unsubscribe"] == f"<{MAIL.unsubscribe}>"
        assert mail["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
        assert mail["auto-submitted"] == "auto-generated"
        assert mail.get_content_type() == "text/plain"
        assert server.boxes.text() == MAIL.text
        assert server.boxes.envelopes[0].mail_from == "hub@hub.example"


async def test_starttls_with_a_login(tmp_path: Path) -> None:
    tls, authority = server_tls(tmp_path)
    options: dict[str, Any] = {
        "tls_context": tls,
        "require_starttls": True,
        "auth_required": True,
        "authenticator": check_login,
    }
    with mail_server(**options) as server:
        address = f"{USER}:{quote(PASSWORD)}@localhost:{server.port}"
        assert await send(f"smtp://{address}?tls=starttls", authority) == ""
        assert server.boxes.encrypted == [True]
        refused = await send(f"smtp://{USER}:wrong@localhost:{server.port}?tls=starttls", authority)
        assert "535" in refused
        assert "wrong" not in refused
        assert "certificate verify failed" in await send(f"smtp://{address}?tls=starttls")
        assert "530" in await send(f"smtp://localhost:{server.port}?tls=none")
        assert len(server.boxes.accepted) == 1


async def test_a_server_without_starttls_gets_nothing_in_clear() -> None:
    with mail_server() as server:
        fault = await send(f"{server.url}?tls=starttls")
        assert "STARTTLS" in fault
        assert server.boxes.accepted == []


async def test_smtps(tmp_path: Path) -> None:
    tls, authority = server_tls(tmp_path)
    with mail_server(smtps=tls) as server:
        assert await send(f"smtps://localhost:{server.port}", authority) == ""
        assert len(server.boxes.accepted) == 1  # the port speaks nothing but TLS
        assert "certificate verify failed" in await send(f"smtps://localhost:{server.port}")


async def test_a_refused_recipient_is_reported_with_the_servers_words() -> None:
    with mail_server() as server:
        server.boxes.refused[MAIL.to] = "550 5.1.1 no such mailbox"
        assert await send(server.url) == "the mail server refused the recipient: 550 5.1.1 no such mailbox"


async def test_a_server_that_is_away_and_back() -> None:
    with mail_server() as server:
        server.stop()
        assert "cannot be used" in await send(server.url)
        server.start()
        assert await send(server.url) == ""


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        sender = mailer(f"smtp://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.2)
        assert "timed out" in await sender.send(MAIL)
        await sender.close()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtp://mail.example.com", MailServer("mail.example.com", 587, "starttls")),
        ("smtps://u:p%40s@mail.example.com", MailServer("mail.example.com", 465, "tls", "u", "p@s")),
        ("smtp://127.0.0.1:25", MailServer("127.0.0.1", 25, "none")),
        ("smtp://mail.example.com:25?tls=none", MailServer("mail.example.com", 25, "none")),
    ],
)
def test_addresses_of_servers(url: str, expected: MailServer) -> None:
    assert MailServer.of(url) == expected


@pytest.mark.parametrize(
    "url",
    ["mail.example.com", "http://x", "smtp://", "smtp://x:99999", "smtp://x/y", "smtps://x?tls=none", "smtp://x?a=b"],
)
def test_wrong_addresses_are_refused_without_the_password(url: str) -> None:
    with pytest.raises(ValueError, match=r"smtp|tls") as caught:
        MailServer.of(url.replace("//", "//user:hidden@") if url != "smtp://" else url)
    assert "hidden" not in str(caught.value)


def test_no_header_can_be_added_by_a_value() -> None:
    with pytest.raises(ValueError, match="linefeed or carriage return"):
        build_email(Mail(to="a@b.example", subject="x\nBcc: c@d.example", text="", id="1"), SENDER, EPOCH_US)
