"""The actions on dead letters: the one table that API, SDK, command line and console are built from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterAction:
    """An action on one dead letter, or on all that match a filter."""

    name: str  # the command, and the last segment of the URL
    past: str  # participle, as in "12 resent"
    done: str  # the console's report afterwards
    of_one: str  # description, in OpenAPI and in the SDK
    of_many: str
    needs_reason: bool = False
    begins_round: bool = False  # the message is delivered again, optionally until a given time


RESEND = LetterAction(
    name="resend",
    past="resent",
    done="The message was resent to the service where it failed.",
    of_one="Resend a dead letter to where it failed.",
    of_many="Resend dead letters, each to where it failed, oldest first.",
    begins_round=True,
)
DROP = LetterAction(
    name="drop",
    past="dropped",
    done="The dead letter was dropped.",
    of_one="Drop a dead letter; the message stays failed, and is no longer listed.",
    of_many="Drop dead letters; they stay failed, and are no longer listed.",
    needs_reason=True,
)
LETTER_ACTIONS: dict[str, LetterAction] = {action.name: action for action in (RESEND, DROP)}
