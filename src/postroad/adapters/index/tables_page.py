"""The reference page of the index's tables, written from the projection and the migrations.

    python -m postroad.adapters.index.tables_page > docs/reference/tables.md

Rule: a test fails for every table or column without a description here, and for a page that differs from the output
of this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from postroad.adapters.index.layout import KEYS
from postroad.adapters.index.migrations import migrations
from postroad.core.projection.queries import QUERIES
from postroad.core.projection.tables import STATEMENTS, TABLES

TABLE_TEXTS = {
    "message": "One row per accepted post.",
    "delivery": "One row per copy of a message and service on its way: waiting there, or finished there.",
    "dead_letter": "One row per delivery at which a copy failed permanently, whether it was resent or dropped or not.",
    "round": "One row per dead letter that was resent: a round of its copy after the first.",
    "released": "One row per release of messages that waited for release at a service.",
    "content": "One row per answer of an in-transit service: the message's content from there on.",
    "journey": (
        "One row per copy that outlasts its first delivery, because services are passed on the way or a response is "
        "expected: where it is and how it ended."
    ),
    "seen": (
        "One row per handle, Idempotency-Key, response, end of a journey, closed dead letter, object version, batch version or "
        "control number ever used, by hash."
    ),
    "trail": (
        "Entries that leased a delivery, or gave it back, before the last one that did, which is in `delivery`; and those "
        "that translated it."
    ),
    "refused": "One row per rejected post.",
    "object": "Configuration objects as they are now.",
    "object_version": "Configuration objects as they ever were.",
    "access": "Logins refused, and payloads looked at.",
    "reference": "Records of cross-reference maps, each under the key of one service. Names of maps are folded.",
    "relation": "Relations between these records; every relation is stored in both directions.",
    "batch": "One row per batch, as it is now.",
    "batch_member": "One row per delivery that ever joined a batch; its own row shows whether it has left.",
    "control_number": "One row per control number that an interchange has used.",
    "batch_answer": "One row per functional acknowledgment of a partner.",
    "found": "One row per search key of a post (handle, control number, declared key, a document sent …), by its hash.",
}

COLUMN_TEXTS = {
    "at_us": "when, in microseconds since 1970 (UTC)",
    "attempts": "how often it was handed out",
    "available_at_us": "not handed out again before this time; 0 = at once; 2 to the power of 62 = never, it is in a batch",
    "batch": "the batch",
    "body_digest": "SHA-256 of the body",
    "body_length": "length of the body in bytes",
    "body_offset": "where in the segment the body begins",
    "body_segment": "the journal segment that holds the body",
    "by": "the actor: a GCID, an e-mail address, or `network`",
    "changed_at_us": "when it was last changed",
    "code": "stable code of the refusal",
    "content_seq": "the entry whose content is delivered: the message's own, or that of a row in `content`",
    "copy": "which recipient of the message, counted from 0",
    "dead": "the dead letter that was resent",
    "dealt_seq": "the entry by which it was resent or dropped; 0 = neither",
    "detail": "in words",
    "expires_at_us": "when it expires; 0 = never",
    "form": "wire form: json, soap11, soap12, envelope, soap, swa, dime, mime, as2, cloudevents; or bulk, push, network",
    "handle": "the sender's own reference for the message",
    "header": "the entry as the journal has it (MessagePack)",
    "hop": "which service of the copy's route, counted from 0",
    "journey": "of a later round, where its copy is followed: its journey; 0 otherwise",
    "key": "64-bit hash of what must not be used twice; of `found`, 32-bit hash of the value; of an object, its name",
    "kind": "kind of object",
    "lease_seq": "the last entry that leased it or gave it back; 0 = none",
    "leased_at_us": "when that was",
    "message_seq": "the message's entry",
    "number": "the delivery's number: the causing entry's number times 65 536, plus a counter; of `control_number`, the number",
    "opened_at_us": "when its first member joined",
    "facts": "the entry, or the part of it, as the journal has it (MessagePack)",
    "id": "the number of the copy's first delivery, or of the one that a later round began with; of a batch, its id",
    "interchange": "the session of the interchange that was made of it; empty = none yet",
    "at_number": "the delivery at which it is now",
    "key_name": "the name of a record's key",
    "key_value": "its value",
    "leg": "0 on its way out, 1 its response is on the way back",
    "map": "the cross-reference map",
    "move_seq": "the entry that last moved it; 0 = none",
    "origin": "of a dead letter that was resent: the first round's delivery; 0 otherwise",
    "other_name": "the name of the related record's key",
    "other_service": "GCID of the service whose record is related",
    "other_value": "the value of the related record's key",
    "owner": "GCID of the service that keeps the map",
    "pairs": "names and values (MessagePack)",
    "series": "what the number counts: the standard, the organization, both sides as interchanges name them, the scope",
    "service": "GCID of the service whose record it is, or of the batcher whose batch it is",
    "queued_at_us": "when it began to wait",
    "reason": "why it is in this state, why the object was changed, or why the messages were released",
    "reason_code": "the code of the reason (`core.delivery.reasons`); empty where the entry has none",
    "recipient": "GCID of the service it waits at",
    "sender": "GCID of the sending service",
    "seq": "number of the journal entry",
    "session": "the session id",
    "settle_seq": "the entry that ended it; 0 = none",
    "settled_at_us": "when that was",
    "size": "bytes of the documents and attachments",
    "state": (
        "0 queued, 1 delivered, 2 rejected, 3 failed, 4 expired, 5 cancelled; of a batch: open, closed, assembled, sent, "
        "suspended, dropped, dissolved"
    ),
    "topic": "the message's topic",
    "transaction_id": "the session that began the exchange",
    "type": "request, response, notification, acknowledgement or cancel",
    "up_to": "the newest delivery that was released; all before it were, too",
    "value": "the object as JSON; empty = removed",
    "verdict": "the status that the partner reports for the interchange",
    "version": "the object's version, counted from 1",
    "waits_for_push": "1 while it waits for its next push, which a poll may come before",
    "waiting": "how many were released by it",
    "what": "what was done or tried",
}

INTRODUCTION = """# Tables of the index

<!-- Written by `python -m postroad.adapters.index.tables_page`; a test compares. Change that module, not this page. -->

An index is made from the journal and nothing else: `postroad index rebuild` rebuilds it. It holds no bodies, only where
they lie. The tables below are what the projection makes and what every index shows, in memory, SQLite and PostgreSQL alike.

In the databases five things are stored in less space and shown as described here: a GCID in `message`, `delivery` and
`dead_letter` is the number of a row in `service`; the `transaction_id` of a message that begins its own transaction is NULL; the
`type`, `topic`, `handle` and `size` of a message are only in its header; a delivery has NULL for `journey` and `origin` 0, and
at the first service of its copy also for what its number tells (`message_seq`, `copy`, `hop` 0, `content_seq`) and for what is
its message's (`sender`, `queued_at_us`); and `seen` and `found` are divided into spans of 16 384 entries, `seen` without the
session, which is that of the entry's own row. `activity` says in which spans of 4096 entries a service sent (part 0) or was sent
(part 1) something. `position` has one row: the last entry applied and the journal's chain after it. `schema_version` lists the
migrations that were applied.
"""


def render() -> str:
    """Return the whole page."""
    pieces = [INTRODUCTION, *(_table(table) for table in TABLES), _indexes(), _statements(), _queries()]
    return "\n".join(pieces)


def _table(table: str) -> str:
    key = ", ".join(f"`{column}`" for column in KEYS[table])
    rows = "".join(f"| `{column}` | {COLUMN_TEXTS[column]} |\n" for column in TABLES[table])
    return f"## {table}\n\n{TABLE_TEXTS[table]} Key: {key}.\n\n| column | meaning |\n|---|---|\n{rows}"


def _indexes() -> str:
    lines = "".join(f"| `{name}` | {table} | {columns} |\n" for name, table, columns in sorted(_created_indexes()))
    return f"## Database indexes\n\n| index | table | columns in PostgreSQL |\n|---|---|---|\n{lines}"


def _created_indexes() -> Iterator[tuple[str, str, str]]:
    for migration in migrations():
        yield from re.findall(r"CREATE INDEX (\w+) ON (\w+) (.*);", migration.script("postgres"))


def _statements() -> str:
    lines = "".join(f"| `{name}` | {', '.join(columns)} |\n" for name, columns in STATEMENTS.items())
    return f"## Changes\n\nWhat the projection may do to the tables, in this order.\n\n| change | takes |\n|---|---|\n{lines}"


def _queries() -> str:
    lines = "".join(f"| `{name}` | {', '.join(takes)} |\n" for name, (takes, _) in QUERIES.items())
    return f"## Questions\n\nWhat an index can be asked by name.\n\n| question | takes |\n|---|---|\n{lines}"


if __name__ == "__main__":
    print(render(), end="")
