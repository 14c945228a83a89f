"""The index in plain dictionaries: complete, lost with the process, and the easiest one to read.

Kept rule: the same answers as the databases. It is written apart from their SQL on purpose, so that comparing the two finds
mistakes in either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from postroad.adapters.index.folding import hand_out, settle
from postroad.adapters.index.gaps import require_no_gap
from postroad.adapters.index.keys import KEYS, SPAN_BITS
from postroad.core.model.delivery import State
from postroad.core.model.ids import delivery_origin
from postroad.core.projection.tables import STATEMENTS, TABLES, Changes, first_delivery, onward_delivery
from postroad.ports import Head

Row = tuple[Any, ...]
_Told = TypeVar("_Told")
NOTHING_APPLIED = Head(0, bytes(32))
DELIVERY = {column: place for place, column in enumerate(TABLES["delivery"])}
MESSAGE = {column: place for place, column in enumerate(TABLES["message"])}
BODY_OF_MESSAGE = slice(MESSAGE["header"], None)  # header and where the body lies
BODY_OF_CONTENT = slice(TABLES["content"].index("parts"), None)
NO_CONTENT = (None,) * 5


class MemoryIndex:
    """An ``Index`` that lives in this process."""

    def __init__(self) -> None:
        self._position = NOTHING_APPLIED
        self._tables: dict[str, dict[Any, Row]] = {table: {} for table in TABLES}
        self._statements = {name: self._statement(name) for name in STATEMENTS}

    async def position(self) -> Head:
        return self._position

    async def apply(self, changes: Changes, head: Head, after: int = 0) -> None:
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
        """Nothing to give back; the rows go with the object."""

    # ---- changes

    def _statement(self, name: str) -> Callable[[Row], None]:
        others: dict[str, Callable[[Row], None]] = {
            "insert_delivery": lambda row: self._insert("delivery", row[0], tuple(first_delivery(row))),
            "insert_onward_delivery": lambda row: self._insert("delivery", row[0], tuple(onward_delivery(row))),
            "save_object": self._save_object,
            "hand_out": self._hand_out,
            "settle": partial(self._change, settle),
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
        """The rows whose columns have these values, in the order of their key."""
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
        both = (self.all("message", transaction_id=transaction_id), self.all("content", transaction_id=transaction_id))
        return {row[0] for rows in both for row in rows}


def _key_of(table: str) -> Callable[[Row], Any]:
    if table == "seen":
        return lambda row: (row[2] >> SPAN_BITS, row[0])
    width = len(KEYS[table])
    return (lambda row: row[0]) if width == 1 else (lambda row: row[:width])


def _newest(rows: list[Row], before: int, limit: int) -> list[Row]:
    return [row for row in reversed(rows) if row[0] < before][:limit]


def _oldest_queued(index: MemoryIndex) -> list[Row]:
    waiting = index.all("delivery", state=State.QUEUED)
    return [(min((row[DELIVERY["content_seq"]] for row in waiting), default=None),)]


def _mailboxes(index: MemoryIndex) -> Iterator[Row]:
    counts: dict[str, int] = {}
    for row in index.all("delivery", state=State.QUEUED):
        counts[row[DELIVERY["recipient"]]] = counts.get(row[DELIVERY["recipient"]], 0) + 1
    yield from sorted(counts.items())


def _mailbox(index: MemoryIndex, recipient: str, after_number: int, limit: int) -> Iterator[Row]:
    queued = index.all("delivery", recipient=recipient, state=State.QUEUED)
    return index.waiting([row for row in queued if row[0] > after_number][:limit])


def _received_by(index: MemoryIndex, recipient: str, before_number: int, limit: int) -> Iterator[Row]:
    return index.waiting(_newest(index.all("delivery", recipient=recipient), before_number, limit))


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
    return [(seq,) for seq in sorted(seqs - {0})]


def _recent_keys(index: MemoryIndex, limit: int) -> list[Row]:
    newest_first = sorted(index.all("seen"), key=lambda row: (-row[2], row[0]))
    return [(key,) for key, *_ in newest_first[:limit]]


def _states(index: MemoryIndex) -> Iterator[Row]:
    states = [row[DELIVERY["state"]] for row in index.all("delivery")]
    return ((state, states.count(state)) for state in sorted(set(states)))


ANSWERS: dict[str, Callable[..., Iterable[Row]]] = {
    "objects": lambda index: index.all("object"),
    "object_versions": lambda index, kind, key: reversed(index.all("object_version", kind=kind, key=key)),
    "mailboxes": _mailboxes,
    "oldest_queued": _oldest_queued,
    "mailbox": _mailbox,
    "delivery": lambda index, number: index.waiting(index.all("delivery", number=number)),
    "message": lambda index, session: index.all("message", session=session),
    "message_at": lambda index, seq: index.all("message", seq=seq),
    "sent_by": _sent_by,
    "received_by": _received_by,
    "all_messages": lambda index, before_seq, limit: _newest(index.all("message"), before_seq, limit),
    "refused": lambda index, session: index.all("refused", session=session),
    "refused_by": _refused_by,
    "seen": lambda index, key: index.all("seen", key=key)[:1],
    "recent_keys": _recent_keys,
    "transaction_messages": lambda index, transaction_id: index.all("message", transaction_id=transaction_id),
    "transaction_contents": lambda index, transaction_id: index.all("content", transaction_id=transaction_id),
    "transaction_deliveries": _transaction_deliveries,
    "transaction_trail": _transaction_trail,
    "states": _states,
}
