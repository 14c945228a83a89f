"""The command ``postroad as2``: keys for AS2 identities, MDNs, and an exchange with oneself, step by step in memory.

Rule: the test uses the code of the network for every step, and prints each result.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple, cast

import click
from cryptography.hazmat.primitives import hashes
from cryptography.x509 import Certificate

from postroad.cli.commands.config.as2_keys import make_as2_key
from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.key_files import write_private
from postroad.cli.framework.output import Output
from postroad.client import Client, Refused
from postroad.core.codecs.as2 import (
    PROCESSED,
    As2Identity,
    BuiltMdn,
    OpenedMessage,
    PartnershipTerms,
    build,
    build_mdn,
    judge_mdn,
    open_message,
    read_mdn,
)
from postroad.core.codecs.as2.mic import WRITTEN
from postroad.core.codecs.cms import Identity, identities_from_pem
from postroad.core.codecs.mime import write_head

MESSAGE_ID, MDN_ID = "<trial@postroad>", "<mdn@postroad>"


class As2TrialStep(NamedTuple):
    what: str
    detail: str
    ok: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class As2Trial:
    """The two AS2 identities of a trial and their partnership; both have keys and each other's certificates."""

    sender: As2Identity
    receiver: As2Identity
    agreement: PartnershipTerms
    document: bytes
    content_type: str

    def steps(self) -> Iterator[As2TrialStep]:
        head = write_head([("Content-Type", self.content_type)])
        yield As2TrialStep("document", f"{len(self.document):,} bytes of {self.content_type}")
        built = build(
            head, [self.document], self.sender, self.receiver, self.agreement,
            message_id=MESSAGE_ID, at=datetime.now(UTC), boundary_seed=b"trial", randomness=secrets.token_bytes,
        )  # fmt: skip
        yield As2TrialStep(
            "sent", f"{self._security()}: {len(built.body):,} bytes from {self.sender.name} to {self.receiver.name}"
        )
        opened = open_message(built.headers, built.body, self.receiver, self.sender, self.agreement)
        yield As2TrialStep("opened", f"layers, outermost first: {', '.join(opened.layers) or 'none'}")
        yield _signer("signature", opened.signer, bool(self.agreement.sign))
        same = bytes(opened.entity.data()) == self.document
        yield As2TrialStep("same document", "to the byte" if same else "the document was changed in transit", same)
        made = self._mdn(opened)
        mdn = read_mdn(made.headers, made.body, self.receiver)
        yield As2TrialStep("MDN", f"{len(made.body):,} bytes, disposition {mdn.disposition}", mdn.disposition.accepted)
        yield _signer("its signature", mdn.signer, self.agreement.mdn_signed)
        verdict = judge_mdn(mdn, built.sent)
        yield As2TrialStep("same MIC", str(mdn.mic) if verdict.acknowledged else verdict.reason, verdict.acknowledged)

    def _security(self) -> str:
        agreed = self.agreement
        compressed = f"compressed {agreed.compress} signing" if agreed.compress else ""
        signed = f"signed with {agreed.sign}" if agreed.sign else ""
        encrypted = f"encrypted with {agreed.encrypt}" if agreed.encrypt else ""
        return ", ".join(filter(None, (compressed, signed, encrypted))) or "as it is"

    def _mdn(self, opened: OpenedMessage) -> BuiltMdn:
        return build_mdn(
            opened.heading, self.receiver,
            disposition=PROCESSED, mic=opened.mic, at=datetime.now(UTC), message_id=MDN_ID, boundary_seed=b"trial",
        )  # fmt: skip


def _signer(what: str, signer: Certificate | None, wanted: bool) -> As2TrialStep:
    if signer is None:
        return As2TrialStep(what, "none", not wanted)
    return As2TrialStep(what, f"holds, by the certificate {signer.fingerprint(hashes.SHA256()).hex()[:16]}…")


ORDER = (
    b"ISA*00*          *00*          *ZZ*MYBIZ          *ZZ*ACME           *261116*0930*U*00401*000000001*0*T*>~\r\n"
)
CIPHERS = ("aes128-cbc", "aes192-cbc", "aes256-cbc", "aes128-gcm", "aes256-gcm")
NONE = "none"


@click.group()
def as2() -> None:
    """Create keys for AS2, test it, and show MDNs."""


@command
@click.argument("name")
@click.option(
    "--out", "file", required=True, type=click.Path(path_type=Path), metavar="FILE", help="A new private file."
)
@click.option(
    "--days",
    default=1_095,
    show_default=True,
    type=click.IntRange(1, 36_500),
    help="Number of days for which the certificate is valid.",
)
@click.option("--bits", default="2048", show_default=True, type=click.Choice(["2048", "3072", "4096"]),
              help="Size of the RSA key.")  # fmt: skip
def key(out: Output, name: str, file: Path, days: int, bits: str) -> None:
    """Make a key and its certificate for an AS2 identity.

    FILE receives both and is for the network only: as2.secretFrom of a service refers to it. The printed certificate
    is for the partner.
    """
    if not name.strip():
        raise click.UsageError("NAME is the subject of the certificate, such as the AS2 name; it cannot be empty")
    made = make_as2_key(name, days, int(bits))
    write_private(file, made.key_pem + made.certificate_pem.strip())
    out.value({"name": name, "file": str(file), "fingerprint": made.fingerprint, "certificate": made.certificate_pem})
    out.print(made.certificate_pem.strip())
    if not out.as_json:
        click.echo(f"key and certificate are in {file}; give your partner only the certificate", err=True)


@command
@click.option(
    "--file", "document", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Document to send."
)
@click.option("--content-type", default="application/edi-x12", show_default=True, help="Content type of the document.")
@click.option("--key", "key_file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="A key made by `postroad as2 key`; both AS2 identities use it.")  # fmt: skip
@click.option(
    "--sign", default="sha256", show_default=True, type=click.Choice([*WRITTEN, NONE]), help="Digest of the signature."
)
@click.option("--encrypt", default="aes256-cbc", show_default=True, type=click.Choice([*CIPHERS, NONE]), help="Cipher.")
@click.option("--compress", default=NONE, show_default=True, type=click.Choice(["before", "after", NONE]),
              help="Compress, before or after signing.")  # fmt: skip
@click.option("--unsigned-mdn", is_flag=True, help="Request an unsigned MDN.")
@click.option("--unsigned-receipt", "unsigned_mdn", is_flag=True, hidden=True, help="The old name.")
def test(
    out: Output, document: Path | None, content_type: str, key_file: Path | None, sign: str, encrypt: str, compress: str,
    unsigned_mdn: bool,
) -> None:  # fmt: skip
    """Send a message to yourself by AS2, and return its MDN.

    Needs no network: two AS2 identities are made in memory, and every step is shown.
    """
    agreement = PartnershipTerms(
        sign="" if sign == NONE else sign,
        encrypt="" if encrypt == NONE else encrypt,
        compress=cast(Literal["", "before", "after"], "" if compress == NONE else compress),
        mdn_signed=not unsigned_mdn,
        must_be_signed=sign != NONE,
        must_be_encrypted=encrypt != NONE,
    )
    sender, receiver = _stations(key_file)
    content = document.read_bytes() if document is not None else ORDER
    trial = As2Trial(sender=sender, receiver=receiver, agreement=agreement, document=content, content_type=content_type)
    steps = [_show_step(out, step) for step in trial.steps()]
    if not all(step.ok for step in steps):
        sys.exit(ExitCode.ERROR)


@command
@click.argument("session")
@click.option("--out", "file", type=click.Path(path_type=Path), metavar="FILE", help="Write it to a file instead.")
@with_connection
def mdn(out: Output, session: str, file: Path | None, connection: NetworkConnection) -> None:
    """Show the MDN by which an AS2 partner has confirmed a message.

    It is printed unchanged: its headers, an empty line, and the signed MDN. Needs the key of a service concerned.
    """
    _show_mdn(out, session, file, connection, "mdn")


def _show_mdn(out: Output, session: str, file: Path | None, connection: NetworkConnection, field: str) -> None:
    with connection.client() as client:
        delivery, found = _find_mdn(client, session)
    out.value({"session": session, "delivery": delivery, field: found.decode("latin-1")})
    if file is not None:
        file.write_bytes(found)
        out.print(f"the MDN for delivery {delivery} is in {file}")
    else:
        out.print(found.decode("latin-1").replace("\r\n", "\n"))


@command
@click.argument("session")
@click.option("--out", "file", type=click.Path(path_type=Path), metavar="FILE", help="Write it to a file instead.")
@with_connection
def receipt(out: Output, session: str, file: Path | None, connection: NetworkConnection) -> None:
    """Show the MDN; the old name of ``mdn``, whose JSON has the MDN in ``receipt``."""
    _show_mdn(out, session, file, connection, "receipt")


def _find_mdn(client: Client, session: str) -> tuple[int, bytes]:
    """Return the first MDN among the stops of the message."""
    history = client.trace(session)
    for stop in [stop for message in history.messages for copy in message.copies for stop in copy.stops]:
        try:
            return stop.delivery, client.mdn_at(session, stop.delivery)
        except Refused as refused:
            if refused.code != "not-found":
                raise
    raise Refused("not-found", "No AS2 partner has confirmed this message, or you may not see its MDN")


def _stations(key_file: Path | None) -> tuple[As2Identity, As2Identity]:
    """Two AS2 identities that know each other."""
    if key_file is not None:
        identities = identities_from_pem(key_file.read_bytes())
        return _station("sender", identities), _station("receiver", identities)
    sender, receiver = (make_as2_key(name, 1).identity for name in ("sender", "receiver"))
    return _station("sender", (sender,)), _station("receiver", (receiver,))


def _station(name: str, identities: tuple[Identity, ...]) -> As2Identity:
    certificates = tuple(identity.certificate for identity in identities)
    return As2Identity(name=name, identities=identities, certificates=certificates)


def _show_step(out: Output, step: As2TrialStep) -> As2TrialStep:
    from rich.text import Text

    out.value({"step": step.what, "detail": step.detail, "ok": step.ok})
    mark = Text("✓ ", style="green") if step.ok else Text("✗ ", style="red")
    out.show(mark + Text(f"{step.what:<14}", style="bold") + Text(step.detail))
    return step


as2.add_command(key)
as2.add_command(test)
as2.add_command(mdn)
receipt.hidden = True
as2.add_command(receipt)
