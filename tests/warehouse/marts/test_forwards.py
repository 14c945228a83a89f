"""What an exchange sends on: part of the transaction of the message it was sent, and paid for by the exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from postroad.core.billing.uses import list_uses
from postroad.core.model.exchange import Binding, Forwarded
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import AnsweredDelivery, DeliveriesAcknowledged, MessagePosted
from postroad.core.model.message import MessageType
from postroad.core.model.route import Copy, Hop
from postroad.warehouse.billing.uses import uses as priced_uses
from postroad.warehouse.landing.log_frame import log_frame
from postroad.warehouse.marts.message_histories import message_histories
from postroad.warehouse.marts.transactions import transactions
from tests.warehouse.bulk.exchange_traffic import EXCHANGE, PUBLISHER, QUEUES, directory_of, order, unbound
from tests.warehouse.whatif.written_journal import WrittenJournal, numbered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def journal() -> WrittenJournal:
    """A request to the exchange, what it sent on to two queues and what one of them has taken, and its answer."""
    written = WrittenJournal(directory_of([*unbound(), Binding(exchange=EXCHANGE, name="all", queue=QUEUES[0])]))
    request = written.post(replace(order(1), sender="MyBiz/Desk"))
    posted = written.posted(request)
    copies = tuple([Copy(f"Queues/{gcid[-2:]}", (Hop(gcid, (), EXCHANGE),)) for gcid in QUEUES[:2]])
    forward = replace(
        posted,
        session="sent on",
        sender=EXCHANGE,
        type=MessageType.NOTIFICATION,
        shown_sender=PUBLISHER,
        copies=copies,
        forwarded=Forwarded(delivery_number(request, 0), posted.session, (EXCHANGE,), ("all", "other")),
    )
    number = written.add(forward)
    answer = written.respond(request)
    answers = AnsweredDelivery(delivery_number(request, 0), posted.session, posted.handle, delivery_number(request, 0))
    written.entries[answer - 1] = (replace(written.posted(answer), answers=answers), None)
    written.add(DeliveriesAcknowledged(posted.at_us + 9, QUEUES[0], (delivery_number(number, 0),)))
    return written


@pytest.mark.req("P2", "P3")
def test_what_is_sent_on_belongs_to_its_transaction_and_is_paid_by_who_sends_it(spark: SparkSession) -> None:
    entries = numbered(journal().entries)
    log = log_frame(spark, [entry for _, entry in entries])
    [request] = [entry for _, entry in entries if isinstance(entry, MessagePosted) and entry.sender == PUBLISHER]
    histories = message_histories(log).orderBy("message_seq", "copy").collect()
    assert [(row["sender"], row["state"]) for row in histories if row["type"] == "notification"] == [
        (EXCHANGE, "delivered"), (EXCHANGE, "queued"),
    ]  # fmt: skip
    assert {row["transaction"] for row in histories} == {request.session}
    [transaction] = transactions(message_histories(log)).collect()
    assert (transaction["sender"], transaction["copies"], transaction["responses"]) == (PUBLISHER, 1, 1)
    expected = [(use.seq, use.ordinal, use.originator, use.recipient.service) for use in list_uses(entries)]
    found = priced_uses(log).orderBy("seq", "ordinal").collect()
    assert [(row["seq"], row["ordinal"], row["originator"], row["recipient"]["service"]) for row in found] == expected
    assert [use[2] for use in expected] == [PUBLISHER, EXCHANGE, EXCHANGE, EXCHANGE]
