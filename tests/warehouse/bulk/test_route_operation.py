"""The operation `route` without Spark: the same routes as the server's decisions give, and a row for whatever is wrong."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from postroad.core.admission.admit import ADDRESSED, admit
from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import Message, MessageType, Recipient
from postroad.core.model.route import Copy
from postroad.core.model.snapshot import Directory
from postroad.core.routing.itinerary import itineraries
from postroad.errors import Misconfigured, Refused
from postroad.flow.stages.posting import describe_parts, encode_body
from postroad.warehouse.bulk.operation import ResultRow, Work, handle_messages
from postroad.warehouse.bulk.read.archive import ArchivedMessage, ArchivePlace, UnreadableMessage
from postroad.warehouse.bulk.read.directories import apply_document, directory_from_text, directory_text
from postroad.warehouse.bulk.read.logged_posts import LoggedPost
from postroad.warehouse.bulk.routing import RouteOperation, copy_from_row, find_caller
from tests.warehouse.bulk.traffic import BUYER, document, messages, order

NOW_US = 1_794_909_600_000_000
DIRECTORY = apply_document(document())
OPERATION = RouteOperation()


def archived(message: Message, position: int = 0) -> ArchivedMessage:
    return ArchivedMessage(ArchivePlace("a", position), message.sender, NOW_US, "json", 100, message)


def rows(items: list[ArchivedMessage | UnreadableMessage], directory: Directory = DIRECTORY) -> list[dict[str, Any]]:
    batches = list(handle_messages(items, OPERATION, OPERATION.prepare(directory)))
    return [row for batch in batches for row in batch.to_pylist()]


def routed(message: Message, directory: Directory = DIRECTORY) -> tuple[Copy, ...] | str:
    """What the server's own decisions say."""
    try:
        admitted = admit(message, find_caller(message.sender, directory), directory, NOW_US)
        return itineraries(admitted, directory, "json").copies
    except Refused as refusal:
        return refusal.code


@pytest.mark.req("P5")
def test_rows_are_the_copies_that_the_server_would_write_down() -> None:
    items = [archived(message, number) for number, message in enumerate(messages())]
    found = rows([*items])
    for number, message in enumerate(messages()):
        mine = [row for row in found if row["position"] == number]
        expected = routed(message)
        if isinstance(expected, str):
            assert [(row["code"], row["copy"]) for row in mine] == [(expected, None)]
        else:
            assert [copy_from_row(row) for row in mine] == list(expected)
            assert [row["copy"] for row in mine] == list(range(len(expected)))


def test_the_traffic_has_every_sort_of_outcome() -> None:
    """What the other tests compare is worth comparing."""
    found = rows([archived(message, number) for number, message in enumerate(messages())])
    assert {row["code"] for row in found} == {"", "recipient.unknown", "route.loop"}
    contexts = [hop["context"] for row in found for hop in (*(row["hops"] or ()), *(row["logical"] or ()))]
    known = [context for context in contexts if context is not None]
    for trait in ("payer", "shown_sender", "absorbs", "topic", "rule", "dynamic", "through", "isolated"):
        assert any(context[trait] for context in known), trait
    assert any(context is None for context in contexts)


def test_a_route_is_told_in_addresses_too() -> None:
    [row] = rows([archived(order(1, 5000))])
    assert row["route"] == ["Mill/Split", "Acme/Gate", "Acme/Supply"]


@pytest.mark.req("P5")
def test_whatever_is_wrong_becomes_a_row() -> None:
    unreadable = UnreadableMessage(ArchivePlace("a", 3), "wire.malformed", "no", 9)
    response = Message(sender=BUYER, type=MessageType.RESPONSE, reference="x")
    stranger = order(2, 1, sender="No/Body")
    silent = order(3, 1, sender="")
    found = rows([unreadable, archived(response), archived(stranger), archived(silent), archived(order(4, 1))])
    assert [row["code"] for row in found] == ["wire.malformed", "value.invalid", "sender.unknown", "sender.unknown", ""]
    assert "--as" in found[3]["detail"]
    assert found[0]["size"] == 9


def test_a_mistake_of_our_own_is_a_row_too() -> None:
    class Broken:
        name = "broken"
        columns = (pa.field("value", pa.int32()),)

        def prepare(self, directory: Directory) -> Work:
            def work(item: ArchivedMessage) -> list[ResultRow]:
                if item.place.position == 1:
                    raise ZeroDivisionError("by zero")
                return [ResultRow((item.place.position,))]

            return work

    items = [archived(order(number, 1), number) for number in range(3)]
    [batch] = handle_messages([*items], Broken(), Broken().prepare(DIRECTORY))
    found = batch.to_pylist()
    assert [(row["code"], row["value"]) for row in found] == [("", 0), ("internal", None), ("", 2)]
    assert found[1]["detail"] == "ZeroDivisionError: by zero"


def test_a_directory_travels_as_text_without_what_proves_identity() -> None:
    text = directory_text(DIRECTORY)
    again = directory_from_text(text)
    assert again is directory_from_text(directory_text(again))
    assert (again.services, again.rules, again.version) == (DIRECTORY.services, DIRECTORY.rules, DIRECTORY.version)
    assert {kind for kind, _ in again.versions} == {"organization", "service", "rule"}
    assert again.object_version("rule", next(iter(again.rules))) == 1


@pytest.mark.parametrize("message", [one for one in messages() if one.type in ADDRESSED], ids=lambda one: one.handle)
def test_a_message_is_made_again_from_what_the_journal_says(message: Message) -> None:
    """Posted again, it takes the same way: what the entry does not keep as such follows from the route."""
    copies = routed(message)
    if isinstance(copies, str):
        return  # refused posts are not kept
    posted = MessagePosted(
        NOW_US, "s", "s", DIRECTORY.service(message.sender).gcid, message.type, message.topic, 100, "json",  # type: ignore[union-attr]
        message.expires_at_us, 1, describe_parts(message.parts), copies, message.handle, message.possible_duplicate,
        message.properties, message.status, routing=message.routing,
    )  # fmt: skip
    again = LoggedPost(1, posted, encode_body(message.parts)).message
    assert routed(again) == copies
    assert again.parts == message.parts
    assert [stop.arguments for stop in again.route] == [stop.arguments for stop in message.route]
    named = [DIRECTORY.service(stop.service) for stop in again.route]
    assert named == [DIRECTORY.service(stop.service) for stop in message.route]
    accepted = [at for at, copy in enumerate(copies) if not copy.code]
    assert [again.to[at] for at in accepted] == [message.to[at] for at in accepted]


def test_bytes_that_are_gone_still_have_their_number() -> None:
    message = order(1, 5000)
    posted = MessagePosted(
        NOW_US, "s", "s", "00000000000000a1", message.type, "order", 1, "json", 0, 1, describe_parts(message.parts), ()
    )
    logged = LoggedPost(1, posted, None)
    assert not logged.is_whole
    assert len(logged.message.parts[0].data) == len(message.parts[0].data)
    assert LoggedPost(1, posted, b"x" * posted.parts[0].size).is_whole


def test_what_is_wrong_with_configuration_files_is_all_told() -> None:
    wrong = document()
    wrong["organizations"]["Mill"]["services"]["Split"]["rules"][0]["then"] = [{"addServiceBefore": "No/Body"}]
    wrong["organizations"]["MyBiz"]["services"]["Purchasing"]["rules"][0]["then"] = [{"addServiceAfter": "No/Body"}]
    with pytest.raises(Misconfigured) as caught:
        apply_document(wrong)
    assert len(caught.value.faults) == 2
    with pytest.raises(Misconfigured, match="organizations"):
        apply_document({"postroad": 1, "organizations": [1]})


def test_credentials_in_configuration_files_are_not_looked_at() -> None:
    content = document()
    content["organizations"]["Mill"]["services"]["Split"]["credentials"] = [{"label": "x", "keyFrom": "env:NOT_SET"}]
    assert apply_document(content).credentials == {}


def test_services_without_a_gcid_get_the_same_one_every_time() -> None:
    content = document()
    del content["organizations"]["Mill"]["services"]["Split"]["gcid"]
    first, second = apply_document(content), apply_document(content)
    assert first.service("Mill/Split") == second.service("Mill/Split")
    assert rows([archived(order(1, 1, to=(Recipient("Mill/Split"),)))], first)[0]["code"] == ""
