"""What must be true of batches whatever happens, worked out from the journal alone and from what a receiver was handed out.

Rule: nothing here asks the index, the desk or the batcher; an interchange is read with ``bytes.split`` besides.
"""

from __future__ import annotations

import re
from collections import Counter

from postroad.core.interchange import x12
from postroad.core.interchange.model import OnEnvelopeError
from postroad.core.model.batch import BATCH_MOVES, Batch, BatchState
from postroad.core.model.ids import delivery_number
from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    DeliveryResent,
    Entry,
    MessagePosted,
)

SETTLED = frozenset(state for state, moves in BATCH_MOVES.items() if not moves)
UNDER_WAY = (
    BatchState.ASSEMBLED,
    BatchState.SUSPENDED,
)  # suspended: its dead letter was resent, and nobody has looked yet
_NUMBER = re.compile(rb"BEG\*00\*NE\*(\d+)\*")


def number_in(document: bytes) -> int:
    """The number that tells an order from all others."""
    found = _NUMBER.search(document)
    assert found is not None, document
    return int(found.group(1))


class BatchLedger:
    """Follows a journal of which ``sender`` posted orders to a send port."""

    def __init__(self, sender: str, *, gap_free: bool) -> None:
        self._sender = sender
        self._gap_free = gap_free
        self.documents: dict[str, bytes] = {}  # by session, told by whoever posted
        self.session_of: dict[int, str] = {}  # of every delivery to the port, resent ones too
        self.latest: dict[str, int] = {}  # by session: its delivery now
        self.ended: dict[int, str] = {}
        self.batches: dict[str, Batch] = {}
        self.batch_of: dict[int, str] = {}
        self.interchanges: dict[str, AssembledInterchange] = {}  # by session
        self.drawn: dict[tuple[str, int], str] = {}  # and the batch that has drawn it
        self.ways: dict[int, str] = {}  # the session of every delivery of an interchange, resent ones too
        self.arrived: dict[int, str] = {}  # by such a delivery that is over: delivered, failed …
        self.seen: dict[str, bytes] = {}  # interchanges that were handed out, by session
        self.taken: Counter[int] = Counter()  # orders in interchanges that the receiver has acknowledged

    # --- what the journal says ----------------------------------------------------------------------------------------

    def read(self, seq: int, entry: Entry) -> None:
        match entry:
            case MessagePosted():
                self._posted(seq, entry)
            case DeliveryResent():
                if entry.delivery in self.session_of:
                    self._wait(delivery_number(seq, 0), entry.session)
                if entry.delivery in self.ways:
                    self.ways[delivery_number(seq, 0)] = entry.session
            case BatchesChanged():
                self._change(*entry.batches)
                for number in entry.deliveries:
                    assert number not in self.batch_of, "a message joined twice"
                    assert number not in self.ended, "what is over joined a batch"
                    self.batch_of[number] = entry.batch
            case DeliveriesAcknowledged() | DeliveriesEnded():
                self._end(entry)

    def _posted(self, seq: int, entry: MessagePosted) -> None:
        if entry.assembled is not None and entry.assembled.batch is not None:
            self.interchanges[entry.session] = entry.assembled
            self.ways[delivery_number(seq, 0)] = entry.session
            self._change(entry.assembled.batch)
            self._draw(entry.assembled, entry.assembled.batch.id)
        elif entry.sender == self._sender and entry.parts:
            self._wait(delivery_number(seq, 0), entry.session)

    def _wait(self, number: int, session: str) -> None:
        self.session_of[number] = session
        self.latest[session] = number

    def _change(self, *batches: Batch) -> None:
        for batch in batches:
            before = self.batches.get(batch.id)
            assert batch.version == (before.version if before is not None else 0) + 1, "a change was lost"
            assert before is None or before.state not in SETTLED, "what is over changed"
            self.batches[batch.id] = batch

    def _draw(self, assembled: AssembledInterchange, batch: str) -> None:
        for one in assembled.numbers:
            drawn = (one.series, one.number)
            assert drawn not in self.drawn or (self._gap_free and self.drawn[drawn] == batch), f"{drawn} is used twice"
            self.drawn[drawn] = batch

    def _end(self, entry: DeliveriesAcknowledged | DeliveriesEnded) -> None:
        fate = "delivered" if isinstance(entry, DeliveriesAcknowledged) else entry.state
        if entry.batch is not None:
            self._change(entry.batch)
            if fate == "delivered":
                filed = {one.delivery for one in self.interchanges[entry.batch.interchange].filed}
                assert filed == set(entry.deliveries), "others were released than went"
        for number in entry.deliveries:
            if number in self.session_of:
                assert number not in self.ended, "a message ended twice"
                self.ended[number] = fate
            if number in self.ways and number not in self.arrived:
                self._arrive(number, fate)

    def _arrive(self, number: int, fate: str) -> None:
        self.arrived[number] = fate
        if fate == "delivered":
            stream = self.seen[self.ways[number]]
            self.taken.update(
                number_in(bytes(member.data)) for member in x12.split(stream, OnEnvelopeError.REFUSE).members
            )

    # --- what the receiver says ---------------------------------------------------------------------------------------

    def hand_out(self, session: str, stream: bytes) -> None:
        """An interchange is what was filed, with the right counts; and the same bytes whenever it comes again."""
        assert self.seen.setdefault(session, stream) == stream
        assembled = self.interchanges[session]
        found = x12.split(stream, OnEnvelopeError.REFUSE)
        assert [bytes(member.data) for member in found.members] == [
            self.documents[self.session_of[one.delivery]] for one in assembled.filed
        ]
        self._check_envelope(stream, len(found.members))
        if assembled.numbers:
            of_interchange = {one.number for one in assembled.numbers if one.series.endswith(":interchange")}
            assert of_interchange == {int(found.reference)}

    def _check_envelope(self, stream: bytes, members: int) -> None:
        segments = [segment.split(b"*") for segment in stream.rstrip().rstrip(b"~").split(b"~")]
        heads = [[segment for segment in segments if segment[0] == name] for name in (b"ISA", b"GS", b"GE", b"IEA")]
        [isa], groups, ends, [iea] = heads
        assert [int(segment[1]) for segment in (iea,)] == [len(groups)]
        assert sum(int(segment[1]) for segment in ends) == members
        assert [segment[6] for segment in groups] == [segment[2] for segment in ends]
        assert isa[13] == iea[2]

    # --- what follows from both ---------------------------------------------------------------------------------------

    def check(self) -> None:
        """Every order is in one place: waiting, in a batch that goes on or is suspended, delivered once, or visibly over."""
        self._check_figures()
        self._check_numbers()
        for session, number in self.latest.items():
            order = number_in(self.documents[session])
            times, fate = self.taken[order], self.ended.get(number, "waiting")
            if fate == "waiting":
                batch = self.batches.get(self.batch_of.get(number, ""))
                assert batch is None or batch.state not in SETTLED, f"order {order} was forgotten by its batch"
                assert times == 0 or (times == 1 and batch is not None and batch.state in UNDER_WAY)
            else:
                assert times == (1 if fate == "delivered" else 0), (
                    f"order {order} is {fate} and was received {times} times"
                )

    def _check_figures(self) -> None:
        members = Counter(
            self.batch_of[number]
            for number in self.batch_of
            if self.ended.get(number, "delivered") == "delivered"  # who failed, expired or was cancelled has left
        )
        for batch in self.batches.values():
            if batch.state is not BatchState.DROPPED:
                assert batch.count == members[batch.id], f"{batch} has {members[batch.id]} members"

    def _check_numbers(self) -> None:
        """Numbers are used if and only if their interchange is there: so there is none between two that nobody has."""
        for series in {series for series, _ in self.drawn}:
            used = sorted(number for other, number in self.drawn if other == series)
            assert used == list(range(1, len(used) + 1))

    def waiting(self) -> list[str]:
        return [session for session, number in self.latest.items() if number not in self.ended]

    def loose(self) -> list[str]:
        """Orders that wait and are in no batch, as far as the journal knows."""
        return [session for session in self.waiting() if self.latest[session] not in self.batch_of]

    def failed_ways(self) -> list[int]:
        return [number for number, fate in self.arrived.items() if fate == "failed"]

    def members(self) -> list[int]:
        """Deliveries that wait in batches, those in suspended ones first."""
        found = [number for number in self.batch_of if number not in self.ended]
        return sorted(found, key=lambda number: self.batches[self.batch_of[number]].state is not BatchState.SUSPENDED)

    def unsettled(self) -> list[Batch]:
        return [batch for batch in self.batches.values() if batch.state not in SETTLED]
