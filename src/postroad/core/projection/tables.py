"""The tables of every index, and the named statements that fill them.

A change is a named statement with its parameters; ``STATEMENTS`` lists the parameters of each. SQL indexes have a
statement with that name in their SQL file, the memory index a method. All inserts may be repeated and all updates are
guarded by the number of the entry that causes them, so applying the same entries twice, or in other groups, gives the
same tables.
"""

from __future__ import annotations

from typing import Any

from postroad.core.model.ids import delivery_origin

Changes = dict[str, list[tuple[Any, ...]]]

TABLES: dict[str, tuple[str, ...]] = {
    # one row per accepted post; header is the entry as the journal has it
    "message": (
        "seq", "session", "transaction_id", "sender", "type", "topic", "handle", "at_us", "size", "header",
        "body_segment", "body_offset", "body_length", "body_digest",
    ),
    # one row per copy and hop: a message waiting at, or done with, one service
    "delivery": (
        "number", "message_seq", "copy", "hop", "content_seq", "recipient", "sender", "state", "attempts", "queued_at_us",
        "leased_at_us", "available_at_us", "settled_at_us", "expires_at_us", "reason", "waits_for_push", "lease_seq",
        "settle_seq", "journey", "origin",
    ),
    # one row per delivery that failed permanently, and the entry by which someone dealt with it
    "dead_letter": ("number", "recipient", "sender", "at_us", "reason", "reason_code", "seq", "dealt_seq"),
    # one row per dead letter that was resent: a round of its copy after the first
    "round": ("seq", "transaction_id", "message_seq", "copy", "journey", "dead"),
    # one row per release of waiting messages of a service
    "released": ("seq", "recipient", "up_to", "waiting", "at_us", "by", "reason"),
    # one row per answer of an in-transit service: the message's content from there on, as the journal's entry describes it
    "content": ("seq", "transaction_id", "session", "facts", "body_segment", "body_offset", "body_length", "body_digest"),
    # one row per copy that outlasts its first delivery: at which delivery it is, out or back, and how it ended
    "journey": (
        "id", "at_number", "leg", "state", "expires_at_us", "settled_at_us", "reason", "move_seq", "settle_seq",
    ),
    # one row per handle or Idempotency-Key ever used, by hash
    "seen": ("key", "session", "seq"),
    # the entries that leased a delivery or gave it back before the last one that did, which its own row names; and those that
    # translated it
    "trail": ("number", "seq"),
    # one row per rejected post
    "refused": ("seq", "session", "at_us", "sender", "code", "detail", "size", "form", "handle"),
    # configuration objects as they are now …
    "object": ("kind", "key", "version", "value", "at_us", "by", "seq"),
    # … and as they ever were
    "object_version": ("kind", "key", "version", "value", "at_us", "by", "reason", "seq"),
    # logins refused, payloads looked at
    "access": ("seq", "at_us", "by", "what", "detail"),
    # records of cross-reference maps, each under the key of one service …
    "reference": ("owner", "map", "service", "key_name", "key_value", "pairs", "at_us", "seq"),
    # … and which belong together, both ways
    "relation": (
        "owner", "map", "service", "key_name", "key_value", "other_service", "other_name", "other_value", "seq",
    ),
    # one row per batch, as it is now; facts is the batch as the journal has it
    "batch": ("id", "service", "state", "opened_at_us", "changed_at_us", "interchange", "facts", "seq"),
    # one row per delivery that ever joined a batch; whether it is still in it, its delivery's row and the batch's state tell
    "batch_member": ("number", "batch", "facts", "seq"),
    # one row per control number that an interchange has used, and the interchange
    "control_number": ("series", "number", "session", "batch", "seq"),
    # one row per answer of a partner about an interchange; facts is the entry as the journal has it
    "batch_answer": ("seq", "at_us", "batch", "session", "verdict", "facts"),
    # one row per search key of a post (handle, control number, declared key …), by a small hash: see ``found_by``
    "found": ("key", "seq"),
}  # fmt: skip

# What differs from one new delivery to another: at the first service of a copy, and further on. The rest is zero or empty,
# and of the former message_seq, copy and content_seq are in its number.
FIRST_DELIVERY = ("number", "recipient", "sender", "queued_at_us", "expires_at_us")
ONWARD_DELIVERY = (
    "number", "message_seq", "copy", "hop", "content_seq", "recipient", "sender", "queued_at_us", "expires_at_us",
)  # fmt: skip
RESENT_DELIVERY = (*ONWARD_DELIVERY, "journey", "origin")
FIRST_JOURNEY = ("id", "at_number", "expires_at_us")
_FILLED_OTHERWISE = ("delivery", "dead_letter", "object", "journey", "reference", "batch")

# Order matters: rows are inserted before they are changed.
STATEMENTS: dict[str, tuple[str, ...]] = {
    **{f"insert_{table}": columns for table, columns in TABLES.items() if table not in _FILLED_OTHERWISE},
    "insert_delivery": FIRST_DELIVERY,
    "insert_onward_delivery": ONWARD_DELIVERY,
    "insert_resent_delivery": RESENT_DELIVERY,
    "save_object": TABLES["object"],  # replaces an older version of the same object
    # attempts is added; the entry that is no longer the delivery's lease_seq goes to its trail
    "hand_out": ("attempts", "leased_at_us", "available_at_us", "reason", "waits_for_push", "seq", "number"),
    "settle": ("state", "settled_at_us", "reason", "seq", "number"),
    # its recipient, and the sender of its message, are known
    "keep_dead_letter": ("at_us", "reason", "reason_code", "seq", "number"),
    "deal_with": ("seq", "number"),
    "insert_journey": FIRST_JOURNEY,
    "move_journey": ("at_number", "leg", "seq", "id"),  # leg NULL: as before
    "settle_journey": ("state", "settled_at_us", "reason", "seq", "id"),
    "save_reference": TABLES["reference"],  # replaces an older version of the same record
    "save_batch": TABLES["batch"],  # the same
}


def first_delivery(row: tuple[Any, ...]) -> list[Any]:
    """The whole row of a delivery that waits at the first service of its copy."""
    number, recipient, sender, queued_at_us, expires_at_us = row
    seq, ordinal = delivery_origin(number)
    return [
        number, seq, ordinal, 0, seq, recipient, sender, 0, 0, queued_at_us, 0, 0, 0, expires_at_us, "", 0, 0, 0, 0,
        0,
    ]  # fmt: skip


def onward_delivery(row: tuple[Any, ...]) -> list[Any]:
    """The whole row of a delivery that waits further on."""
    *place, queued_at_us, expires_at_us = row
    return [*place, 0, 0, queued_at_us, 0, 0, 0, expires_at_us, "", 0, 0, 0, 0, 0]


def resent_delivery(row: tuple[Any, ...]) -> list[Any]:
    """The whole row of a delivery that waits once more."""
    *onward, journey, origin = row
    return [*onward_delivery(tuple(onward))[:-2], journey, origin]


def first_journey(row: tuple[Any, ...]) -> list[Any]:
    """The whole row of a journey that has just begun."""
    id_, at_number, expires_at_us = row
    return [id_, at_number, 0, 0, expires_at_us, 0, "", 0, 0]
