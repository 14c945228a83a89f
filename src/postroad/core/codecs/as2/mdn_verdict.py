"""Judges an MDN: whether it proves that the partner received exactly what was sent.

Rule: an acknowledgment must satisfy everything that was agreed on: the right message, the right partner, the
requested signature, a disposition that accepts, and the MIC of what was sent. An MDN that fails one of them is no
success.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from hmac import compare_digest

from postroad.core.codecs.as2.mdn_reader import Mdn
from postroad.core.codecs.as2.mic import micalg
from postroad.core.codecs.as2.names import quote_name
from postroad.core.codecs.as2.outgoing_message import SentMessage


class MdnOutcome(StrEnum):
    ACKNOWLEDGED = "acknowledged"
    REJECTED = "rejected"  # the partner has not accepted the message
    ALTERED = "altered"  # the partner received different content than was sent, or the MDN has no MIC
    UNPROVEN = "unproven"  # not from the partner, or not about this message: the MDN is still missing


@dataclass(frozen=True, slots=True, kw_only=True)
class MdnVerdict:
    outcome: MdnOutcome
    reason: str = ""  # a sentence for people; for an acknowledgment, the partner's warning

    @property
    def acknowledged(self) -> bool:
        return self.outcome is MdnOutcome.ACKNOWLEDGED


def judge_mdn(mdn: Mdn, sent: SentMessage) -> MdnVerdict:
    if doubt := _doubt(mdn, sent):
        return MdnVerdict(outcome=MdnOutcome.UNPROVEN, reason=f"{doubt}; it reports {mdn.disposition}")
    if not mdn.disposition.accepted:
        return MdnVerdict(
            outcome=MdnOutcome.REJECTED, reason=f"The partner did not accept the message: {mdn.disposition}"
        )
    if difference := _difference(mdn, sent):
        return MdnVerdict(outcome=MdnOutcome.ALTERED, reason=difference)
    return MdnVerdict(outcome=MdnOutcome.ACKNOWLEDGED, reason=mdn.disposition.text)


def _doubt(mdn: Mdn, sent: SentMessage) -> str:
    """Return why the MDN may not be the partner's MDN for this message; "" if it is."""
    if mdn.original_message_id.strip("<> ") != sent.message_id.strip("<> "):
        return f"The MDN is for another message, {mdn.original_message_id[:200]!r}"
    if not _is_named(mdn.sender, sent.recipient) or not _is_named(mdn.recipient, sent.sender):
        return f"The MDN is from {mdn.sender!r} to {mdn.recipient!r}, not from {sent.recipient!r} to {sent.sender!r}"
    if mdn.signature == "invalid":
        return f"The MDN's signature is not valid: {mdn.fault}"
    if mdn.signature == "none" and sent.mdn_signed:
        return "The MDN is not signed, but a signed one was requested"
    return ""


def _is_named(name: str, expected: str) -> bool:
    """Return True for the expected name; some products omit it, and some quote it twice."""
    return name in ("", expected, quote_name(expected), f'"{expected}"')


def _difference(mdn: Mdn, sent: SentMessage) -> str:
    if mdn.mic is None:
        return "The MDN has no Received-Content-MIC, so it does not prove what was received"
    if compare_digest(mdn.mic.digest, sent.mic.digest):
        return ""
    if mdn.mic.algorithm not in ("", sent.mic.algorithm):
        return (
            f"The partner computed the MIC with {micalg(mdn.mic.algorithm)[:40]} where {micalg(sent.mic.algorithm)} was "
            "requested; agree on one digest"
        )
    return f"The partner received other content than was sent: its MIC is {mdn.mic}, the sent one {sent.mic}"
