"""Send ports in bulk jobs: the batcher, its policy, and messages as the policy's conditions see them.

Rule: a message is read as the batcher reads its mailbox, so that it is selected, grouped and sorted by the same
values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from postroad.adapters.interchange_plug_ins import load_catalogue
from postroad.core.batching import ArrivingMessage, arrival_of
from postroad.core.batching.arrival import is_selective
from postroad.core.batching.interchange_contents import member_of
from postroad.core.model.asset import Hosting
from postroad.core.model.batch_policy import Batching, BatchPolicy, Port
from postroad.core.model.directory import Service
from postroad.core.model.message import MessageType, Part
from postroad.core.model.snapshot import Directory
from postroad.core.routing.conditions.message_subject import party_of
from postroad.core.routing.conditions.subject import Addressed, NamedService, RuleHeader, Subject
from postroad.errors import Misconfigured, Refused
from postroad.warehouse.bulk.read.archive import ArchivedMessage

REQUEST = "batch.request"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkSendPort:
    """A batcher; ``gcid`` is empty when only a policy is known, and no network."""

    gcid: str
    address: str
    batching: Batching
    port: Port

    @property
    def policy(self) -> BatchPolicy:
        return self.batching.policy

    def within(self, most_bytes: int) -> BulkSendPort:
        """Return the port with a limit on the bytes of a batch's members; 0 is no limit."""
        if not most_bytes or not is_selective(self.policy):
            return self
        bytes_ = min(self.policy.bytes or most_bytes, most_bytes)
        return replace(self, batching=replace(self.batching, policy=replace(self.policy, bytes=bytes_)))


def find_send_port(service: Service) -> BulkSendPort | None:
    if service.batching is None:
        return None
    port = load_catalogue().port_of(service)
    return BulkSendPort(gcid=service.gcid, address=service.address, batching=service.batching, port=port)


def find_named_send_port(name: str, directory: Directory) -> BulkSendPort:
    service = directory.service(name)
    if service is None:
        raise Misconfigured([f"service {name} does not exist in this configuration; use --port with a batcher"])
    found = find_send_port(service) if service.hosted is Hosting.BATCHER else None
    if found is None:
        raise Misconfigured([f"{name} is not a batcher; its profile has no `hosted: batcher`"])
    return found


def batch_arrival(
    archived: ArchivedMessage, parts: tuple[Part, ...], number: int, port: BulkSendPort, directory: Directory
) -> ArrivingMessage:
    """Return what the policy needs of a message; a request is refused, like by the batcher."""
    message = archived.message
    if message.type is not MessageType.NOTIFICATION:
        raise Refused(REQUEST, "A batcher accepts only notifications")
    member = member_of(number, parts)
    if len(parts) != 1:
        return ArrivingMessage(member=member, taken=False)
    header = RuleHeader(
        sender=_party(archived.sender, directory),
        to=(Addressed(party=NamedService(address=port.address, gcid=port.gcid)),),
        type=message.type,
        topic=message.topic,
        handle=message.handle,
        possible_duplicate=message.possible_duplicate,
        expires_at_us=message.expires_at_us,
        properties=message.properties,
        status=message.status,
        posted_at_us=archived.at_us,
        form=archived.form,
        shown_sender=_party(archived.shown_sender, directory) if archived.shown_sender else None,
    )
    return arrival_of(port.policy, Subject(header=header, parts=parts), member)


def _party(name: str, directory: Directory) -> NamedService:
    service = directory.service(name)
    return party_of(service) if service is not None else NamedService(address=name)
