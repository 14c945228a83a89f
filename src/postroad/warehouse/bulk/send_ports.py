"""Send ports as a job knows them: the batcher, its policy, and a message as the policy's conditions look at it.

Kept rule: a message is looked at as the batcher itself looks at what waits in its mailbox, so that it is taken, grouped and
sorted by the same values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from postroad.adapters.interchange_plug_ins import installed_catalogue
from postroad.core.batching import Arrival, arrival_of
from postroad.core.batching.arriving import is_selective
from postroad.core.batching.contents import member_of
from postroad.core.model.asset import Hosting
from postroad.core.model.batch_policy import Batching, Policy, Port
from postroad.core.model.directory import Service
from postroad.core.model.message import MessageType, Part
from postroad.core.model.snapshot import Directory
from postroad.core.routing.message_subject import party_of
from postroad.core.routing.subject import Addressed, Header, Party, Subject
from postroad.errors import Misconfigured, Refused
from postroad.warehouse.bulk.archived import Archived

REQUEST = "batch.request"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendPort:
    """A batcher; ``gcid`` is empty where only a policy is known, and no network."""

    gcid: str
    address: str
    batching: Batching
    port: Port

    @property
    def policy(self) -> Policy:
        return self.batching.policy

    def within(self, most_bytes: int) -> SendPort:
        """The same where no batch may have more bytes of members than this, unless its application marks it; 0: any."""
        if not most_bytes or not is_selective(self.policy):
            return self
        bytes_ = min(self.policy.bytes or most_bytes, most_bytes)
        return replace(self, batching=replace(self.batching, policy=replace(self.policy, bytes=bytes_)))


def send_port_of(service: Service) -> SendPort | None:
    if service.batching is None:
        return None
    port = installed_catalogue().port_of(service)
    return SendPort(gcid=service.gcid, address=service.address, batching=service.batching, port=port)


def send_port_named(name: str, directory: Directory) -> SendPort:
    service = directory.service(name)
    if service is None:
        raise Misconfigured([f"there is no service {name} in this configuration; name a batcher with --port"])
    found = send_port_of(service) if service.hosted is Hosting.BATCHER else None
    if found is None:
        raise Misconfigured([f"{name} is not a batcher; its profile has no `hosted: batcher`"])
    return found


def come(archived: Archived, parts: tuple[Part, ...], number: int, port: SendPort, directory: Directory) -> Arrival:
    """What the policy wants to know of a message; a request is refused, as by the batcher."""
    message = archived.message
    if message.type is not MessageType.NOTIFICATION:
        raise Refused(REQUEST, "A batcher gathers notifications, and answers nothing")
    member = member_of(number, parts)
    if len(parts) != 1:
        return Arrival(member=member, taken=False)
    header = Header(
        sender=_party(archived.sender, directory),
        to=(Addressed(party=Party(address=port.address, gcid=port.gcid)),),
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


def _party(name: str, directory: Directory) -> Party:
    service = directory.service(name)
    return party_of(service) if service is not None else Party(address=name)
