"""The index in plain dictionaries: complete, lost with the process, and the easiest one to read.

Rule: its answers equal those of the databases. It shares no code with their SQL, so that comparing the two finds
errors in either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from postroad.adapters.index.batch_folding import hand_out, settle
from postroad.adapters.index.gap_check import require_no_gap
from postroad.adapters.index.layout import KEYS, SPAN_BITS
from postroad.adapters.memory.query_answers import BATCH_ANSWERS, DUE_ANSWERS, SEARCH_KEY_ANSWERS
from postroad.core.delivery.mailbox import IN_A_BATCH_US
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.ids import delivery_origin
from postroad.core.projection.tables import (
    STATEMENTS,
    TABLES,
    Changes,
    first_delivery,
    first_journey,
    onward_delivery,
    resent_delivery,
)
from postroad.ports import JournalHead

Row = tuple[Any, ...]
_Told = TypeVar("_Told")
NOTHING_APPLIED = JournalHead(0, bytes(32))
DELIVERY = {column: place for place, column in enumerate(TABLES["delivery"])}
MESSAGE = {column: place for place, column in enumerate(TABLES["message"])}
BODY_OF_MESSAGE = slice(MESSAGE["header"], None)  # header and where the body lies
JOURNEY = {column: place for place, column in enumerate(TABLES["journey"])}
UP_TO = TABLES["released"].index("up_to")
BODY_OF_CONTENT = slice(TABLES["content"].index("facts"), None)
NO_CONTENT = (None,) * 5


class MemoryIndex:
    """An ``Index`` that lives in this process."""

    def __init__(self) -> None:
        self._position = NOTHING_APPLIED
        self._tables: dict[str, dict[Any, Row]] = {table: {} for table in TABLES}
        self._statements = {name: self._statement(name) for name in STATEMENTS}

    async def position(self) -> JournalHead:
        return self._position

    async def apply(self, changes: Changes, head: JournalHead, after: int = 0) -> None:
        require_no_gap(self._position.seq, after)
        for name, apply_row in self._statements.items():
            for row in changes.get(name, ()):
                apply_row(row)
        if head.seq > self._position.seq:
            self._position = head

    async def query(self, name: str, *parameters: Any) -> list[Row]:
        return list(ANSWERS[name](self, *parameters))

    async def rows(self, table: str) -> list[Row]:
        places = [TABLES[table].index(column) for column in KEYS[table]]
        return sorted(self._tables[table].values(), key=lambda row: [row[place] for place in places])

    async def clear(self) -> None:
        self._position = NOTHING_APPLIED
        for table in self._tables.values():
            table.clear()

    async def close(self) -> None:
        """Does nothing; the rows are freed with the object."""

    # ---- changes

    def _statement(self, name: str) -> Callable[[Row], None]:
        others: dict[str, Callable[[Row], None]] = {
            "insert_delivery": lambda row: self._insert("delivery", row[0], tuple(first_delivery(row))),
            "insert_onward_delivery": lambda row: self._insert("delivery", row[0], tuple(onward_delivery(row))),
            "insert_resent_delivery": lambda row: self._insert("delivery", row[0], tuple(resent_delivery(row))),
            "keep_dead_letter": self._keep_dead_letter,
            "deal_with": self._deal_with,
            "save_object": self._save_object,
            "hand_out": self._hand_out,
            "settle": partial(self._change, settle),
            "insert_journey": lambda row: self._insert("journey", row[0], tuple(first_journey(row))),
            "move_journey": partial(self._change_journey, move_journey),
            "settle_journey": partial(self._change_journey, settle_journey),
            "save_reference": self._save_reference,
            "save_batch": self._save_batch,
        }
        if name in others:
            return others[name]
        table = name.removeprefix("insert_")
        key_of = _key_of(table)
        return lambda row: self._insert(table, key_of(row), row)

    def _insert(self, table: str, key: Any, row: Row) -> None:
        self._tables[table].setdefault(key, row)

    def _save_object(self, row: Row) -> None:
        kind, key, version, *_, seq = row
        old = self._tables["object"].get((kind, key))
        if old is None or (seq, version) > (old[-1], old[2]):
            self._tables["object"][kind, key] = row

    def _keep_dead_letter(self, change: Row) -> None:
        at_us, reason, reason_code, seq, number = change
        delivery = self._tables["delivery"].get(number)
        if delivery is not None:
            sender = self._tables["message"][delivery[DELIVERY["message_seq"]]][MESSAGE["sender"]]
            recipient = delivery[DELIVERY["recipient"]]
            self._insert("dead_letter", number, (number, recipient, sender, at_us, reason, reason_code, seq, 0))

    def _deal_with(self, change: Row) -> None:
        seq, number = change
        letter = self._tables["dead_letter"].get(number)
        if letter is not None and not letter[-1]:
            self._tables["dead_letter"][number] = (*letter[:-1], seq)

    def _save_reference(self, row: Row) -> None:
        old = self._tables["reference"].get(row[:5])
        if old is None or row[-1] > old[-1]:
            self._tables["reference"][row[:5]] = row

    def _save_batch(self, row: Row) -> None:
        old = self._tables["batch"].get(row[0])
        if old is None or row[-1] > old[-1]:
            self._tables["batch"][row[0]] = row

    def _change_journey(self, happen: Callable[[list[Any], Row], None], change: Row) -> None:
        row = self._tables["journey"].get(change[-1])
        if row is not None:
            journey = list(row)
            happen(journey, change)
            self._tables["journey"][change[-1]] = tuple(journey)

    def _hand_out(self, change: Row) -> None:
        if replaced := self._change(hand_out, change):
            self._insert("trail", (change[-1], replaced), (change[-1], replaced))

    def _change(self, happen: Callable[[list[Any], Row], _Told], change: Row) -> _Told | None:
        row = self._tables["delivery"].get(change[-1])
        if row is None:
            return None
        delivery = list(row)
        told = happen(delivery, change)
        self._tables["delivery"][change[-1]] = tuple(delivery)
        return told

    # ---- what the answers are made of

    def all(self, table: str, **equal: Any) -> list[Row]:
        """Return the rows whose columns have these values, in the order of their key."""
        if tuple(equal) == KEYS[table] and len(equal) == 1:
            row = self._tables[table].get(*equal.values())
            return [row] if row is not None else []
        wanted = [(TABLES[table].index(column), value) for column, value in equal.items()]
        found = [
            (key, row) for key, row in self._tables[table].items() if all(row[at] == value for at, value in wanted)
        ]
        return [row for _, row in sorted(found, key=lambda one: one[0])]

    def waiting(self, deliveries: Iterable[Row]) -> Iterator[Row]:
        """Each delivery with its message's header and body, and with the content that replaced it."""
        for row in deliveries:
            message = self._tables["message"].get(row[DELIVERY["message_seq"]])
            content = self._tables["content"].get(row[DELIVERY["content_seq"]])
            if message is not None:
                yield (*row, *message[BODY_OF_MESSAGE], *(content[BODY_OF_CONTENT] if content else NO_CONTENT))

    def origins(self, transaction_id: str) -> set[int]:
        """The entries of a transaction that cause deliveries."""
        tables = [self.all(table, transaction_id=transaction_id) for table in ("message", "content", "round")]
        return {row[0] for rows in tables for row in rows}

    def letters(self, after_number: int = -1, limit: int = 1, **equal: Any) -> Iterator[Row]:
        """Dead letters, each with its delivery."""
        found = [row for row in self.all("dead_letter", **equal) if row[0] > after_number][:limit]
        for number, _, _, at_us, reason, reason_code, _, dealt_seq in found:
            for delivery in self.waiting([self._tables["delivery"][number]]):
                yield (at_us, reason, reason_code, dealt_seq, *delivery)


def move_journey(journey: list[Any], change: Row) -> None:
    at_number, leg, seq, _ = change
    if journey[JOURNEY["move_seq"]] < seq:
        journey[JOURNEY["at_number"]], journey[JOURNEY["move_seq"]] = at_number, seq
        if leg is not None:
            journey[JOURNEY["leg"]] = leg


def settle_journey(journey: list[Any], change: Row) -> None:
    if not journey[JOURNEY["settle_seq"]]:
        for column, value in zip(("state", "settled_at_us", "reason", "settle_seq"), change, strict=False):
            journey[JOURNEY[column]] = value


def _key_of(table: str) -> Callable[[Row], Any]:
    if table == "seen":
        return lambda row: (row[2] >> SPAN_BITS, row[0])
    width = len(KEYS[table])
    return (lambda row: row[0]) if width == 1 else (lambda row: row[:width])


def _newest(rows: list[Row], before: int, limit: int) -> list[Row]:
    return [row for row in reversed(rows) if row[0] < before][:limit]


def _oldest_queued(index: MemoryIndex) -> list[Row]:
    waiting = index.all("delivery", state=DeliveryState.QUEUED)
    return [(min((row[DELIVERY["content_seq"]] for row in waiting), default=None),)]


def _held(index: MemoryIndex) -> list[Row]:
    deliveries = Counter(row[DELIVERY["message_seq"]] for row in index.all("delivery", state=DeliveryState.QUEUED))
    held: dict[str, tuple[int, int]] = {}
    for seq, count in deliveries.items():
        for row in index.all("message", seq=seq):
            if row[MESSAGE["transaction_id"]] != row[MESSAGE["session"]]:
                continue
            sender = row[MESSAGE["sender"]]
            before = held.get(sender, (0, 0))
            held[sender] = before[0] + count, before[1] + row[MESSAGE["body_length"]]
    return [(sender, *amounts) for sender, amounts in sorted(held.items())]


def _mailboxes(index: MemoryIndex) -> Iterator[Row]:
    counts: dict[str, int] = {}
    for row in index.all("delivery", state=DeliveryState.QUEUED):
        counts[row[DELIVERY["recipient"]]] = counts.get(row[DELIVERY["recipient"]], 0) + 1
    yield from sorted(counts.items())


def _mailbox(index: MemoryIndex, recipient: str, after_number: int, limit: int) -> Iterator[Row]:
    queued = index.all("delivery", recipient=recipient, state=DeliveryState.QUEUED)
    free = [row for row in queued if row[DELIVERY["available_at_us"]] != IN_A_BATCH_US]
    return index.waiting([row for row in free if row[0] > after_number][:limit])


def _waiting_at(index: MemoryIndex, recipient: str, after_number: int, limit: int) -> list[Row]:
    queued = [
        row for row in index.all("delivery", recipient=recipient, state=DeliveryState.QUEUED) if row[0] > after_number
    ]
    return [(row[0], row[DELIVERY["queued_at_us"]]) for row in queued[:limit]]


def _held_back(index: MemoryIndex, recipient: str, after_number: int, limit: int) -> list[Row]:
    waiting = _waiting_at(index, recipient, after_number, limit)
    return [(len(waiting), waiting[0][1], waiting[-1][0])] if waiting else [(0, None, None)]


def _released_to(index: MemoryIndex, recipient: str) -> list[Row]:
    return [(max((row[UP_TO] for row in index.all("released", recipient=recipient)), default=None),)]


def _received_by(index: MemoryIndex, recipient: str, before_number: int, limit: int) -> Iterator[Row]:
    return index.waiting(_newest(index.all("delivery", recipient=recipient), before_number, limit))


def _taken_by(index: MemoryIndex, recipient: str, limit: int) -> list[Row]:
    taken = index.all("delivery", recipient=recipient, state=DeliveryState.DELIVERED)
    return [(row[0], row[DELIVERY["settle_seq"]]) for row in reversed(taken)][:limit]


def _tried_at(index: MemoryIndex, recipient: str, after_number: int, after_seq: int, limit: int) -> list[Row]:
    tried = [row for row in index.all("delivery", recipient=recipient) if row[0] > after_number]
    tried = [row for row in tried if row[DELIVERY["state"]] != DeliveryState.DELIVERED]
    tried = [row for row in tried if max(row[DELIVERY["lease_seq"]], row[DELIVERY["settle_seq"]]) > after_seq]
    numbers = {row[0] for row in tried}
    seqs = {row[DELIVERY[column]] for row in tried for column in ("lease_seq", "settle_seq")}
    seqs |= {seq for number, seq in index.all("trail") if number in numbers}
    return [(seq,) for seq in sorted(seqs) if seq > after_seq][:limit]


def _delivery_trail(index: MemoryIndex, number: int) -> list[Row]:
    seqs = {row[DELIVERY["lease_seq"]] for row in index.all("delivery", number=number)}
    return [(seq,) for seq in sorted(seqs | {row[1] for row in index.all("trail", number=number)}) if seq]


def _sent_by(index: MemoryIndex, sender: str, before_seq: int, limit: int) -> list[Row]:
    return _newest(index.all("message", sender=sender), before_seq, limit)


def _refused_by(index: MemoryIndex, sender: str, before_seq: int, limit: int) -> list[Row]:
    return _newest(index.all("refused", sender=sender), before_seq, limit)


def _transaction_deliveries(index: MemoryIndex, transaction_id: str) -> Iterator[Row]:
    origins = index.origins(transaction_id)
    return (row for row in index.all("delivery") if delivery_origin(row[0])[0] in origins)


def _transaction_trail(index: MemoryIndex, transaction_id: str) -> list[Row]:
    changed = list(_transaction_deliveries(index, transaction_id))
    numbers = {row[0] for row in changed}
    seqs = {row[DELIVERY[column]] for row in changed for column in ("lease_seq", "settle_seq")}
    seqs |= {seq for number, seq in index.all("trail") if number in numbers}
    seqs |= {row[-1] for row in index.all("dead_letter") if row[0] in numbers}
    return [(seq,) for seq in sorted(seqs - {0})]


def _recent_keys(index: MemoryIndex, limit: int) -> list[Row]:
    newest_first = sorted(index.all("seen"), key=lambda row: (-row[2], row[0]))
    return [(key,) for key, *_ in newest_first[:limit]]


def _keys_from(index: MemoryIndex, least: int, limit: int) -> list[Row]:
    return [(key,) for key in sorted(key for key, *_ in index.all("seen") if key >= least)[:limit]]


def _transaction_journeys(index: MemoryIndex, transaction_id: str) -> list[Row]:
    origins = index.origins(transaction_id)
    return [row for row in index.all("journey") if delivery_origin(row[0])[0] in origins]


def _related(index: MemoryIndex, owner: str, map_: str, *key: str) -> list[Row]:
    reached, todo = {key}, [key]
    while todo:
        service, name, value = todo.pop()
        for row in index.all("relation", owner=owner, map=map_, service=service, key_name=name, key_value=value):
            if row[5:8] not in reached:
                reached.add(row[5:8])
                todo.append(row[5:8])
    records = [row for row in index.all("reference", owner=owner, map=map_) if row[2:5] in reached]
    return [row[2:6] for row in sorted(records, key=lambda row: (row[2:5] != key, row[2:5]))]


def _states(index: MemoryIndex) -> Iterator[Row]:
    states = [row[DELIVERY["state"]] for row in index.all("delivery")]
    return ((state, states.count(state)) for state in sorted(set(states)))


def _changes(index: MemoryIndex, before_seq: int, limit: int) -> list[Row]:
    rows = [row for row in index.all("object_version") if row[CHANGE_SEQ] < before_seq]
    return sorted(rows, key=lambda row: (-row[CHANGE_SEQ], row[:3]))[:limit]


OBJECT_SEQ = TABLES["object"].index("seq")
CHANGE_SEQ = TABLES["object_version"].index("seq")

ANSWERS: dict[str, Callable[..., Iterable[Row]]] = {
    "objects": lambda index: index.all("object"),
    "objects_since": lambda index, seq: sorted(
        (row for row in index.all("object") if row[OBJECT_SEQ] > seq), key=lambda row: (row[OBJECT_SEQ], row[:2])
    ),
    "object_versions": lambda index, kind, key: reversed(index.all("object_version", kind=kind, key=key)),
    "changes": _changes,
    "accesses": lambda index, before_seq, limit: _newest(index.all("access"), before_seq, limit),
    "mailboxes": _mailboxes,
    "waiting_at": _waiting_at,
    "held_back": _held_back,
    "released_to": _released_to,
    "held": _held,
    "oldest_queued": _oldest_queued,
    "mailbox": _mailbox,
    "delivery": lambda index, number: index.waiting(index.all("delivery", number=number)),
    "message": lambda index, session: index.all("message", session=session),
    "message_at": lambda index, seq: index.all("message", seq=seq),
    "sent_by": _sent_by,
    "received_by": _received_by,
    "taken_by": _taken_by,
    "tried_at": _tried_at,
    "delivery_trail": _delivery_trail,
    "all_messages": lambda index, before_seq, limit: _newest(index.all("message"), before_seq, limit),
    "refused": lambda index, session: index.all("refused", session=session),
    "refused_by": _refused_by,
    "seen": lambda index, key: index.all("seen", key=key)[:1],
    "recent_keys": _recent_keys,
    "keys_from": _keys_from,
    "transaction_messages": lambda index, transaction_id: index.all("message", transaction_id=transaction_id),
    "transaction_contents": lambda index, transaction_id: index.all("content", transaction_id=transaction_id),
    "transaction_deliveries": _transaction_deliveries,
    "transaction_trail": _transaction_trail,
    "transaction_journeys": _transaction_journeys,
    "message_rounds": lambda index, message_seq: index.all("round", message_seq=message_seq),
    "dead_letters": lambda index, after, limit: index.letters(after, limit, dealt_seq=0),
    "dead_letters_at": lambda index, gcid, after, limit: index.letters(after, limit, recipient=gcid, dealt_seq=0),
    "dead_letters_of": lambda index, gcid, after, limit: index.letters(after, limit, sender=gcid, dealt_seq=0),
    "dead_letter_count": lambda index: [(len(index.all("dead_letter", dealt_seq=0)),)],
    "dead_letter": lambda index, number: index.letters(number=number),
    "journey": lambda index, id_: index.all("journey", id=id_),
    "related": _related,
    "states": _states,
    **DUE_ANSWERS,
    **BATCH_ANSWERS,
    **SEARCH_KEY_ANSWERS,
}
