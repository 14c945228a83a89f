"""What can be agreed on with a partner for a splitter, whatever the standard: the names, and what each may say.

acknowledge    asked or always: whether the partner is told though it did not ask
answer         997 or 999
answers        hear or pass: whether what the partner says of ours goes on, too
duplicates     refuse or pass: what becomes of an interchange that came before
our_name, partner_name   both sides, as the batcher names them
topic          kind or keep: of documents
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

AGREEABLE: dict[str, tuple[str, ...]] = {
    "acknowledge": ("asked", "always"),
    "answer": ("997", "999"),
    "answers": ("hear", "pass"),
    "duplicates": ("refuse", "pass"),
    "our_name": (),  # anything
    "partner_name": (),
    "topic": ("kind", "keep"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """The same, read."""

    always_acknowledged: bool
    answers_pass: bool
    duplicates_pass: bool
    topic_kept: bool
    our_name: str
    partner_name: str


def agreed(facts: Mapping[str, str]) -> Agreed:
    return Agreed(
        always_acknowledged=facts.get("acknowledge") == "always",
        answers_pass=facts.get("answers") == "pass",
        duplicates_pass=facts.get("duplicates") == "pass",
        topic_kept=facts.get("topic") == "keep",
        our_name=facts.get("our_name", ""),
        partner_name=facts.get("partner_name", ""),
    )
