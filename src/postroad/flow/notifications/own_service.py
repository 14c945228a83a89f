"""The service that sends notifications as messages; it is created when the first one is sent."""

from __future__ import annotations

from postroad.core.model import ids
from postroad.core.model.directory import Organization, Service, Visibility
from postroad.core.model.journal import BY_NETWORK
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.network import Network
from postroad.flow.registries.configuration import DirectoryChange, build_save

OWN_ORGANIZATION, OWN_SERVICE = "Network", "Notifications"
ADDRESS = "address"
CACHED = "own_service"


def find_own_service(directory: Directory) -> Service | None:
    """Return the service that sends notifications; None if it has not been needed yet, or is a member's of that name."""
    if CACHED not in directory.cache:  # it is asked for with each batch of the journal, and there may be many people
        found = directory.service(f"{OWN_ORGANIZATION}/{OWN_SERVICE}")
        directory.cache[CACHED] = None if found is not None and directory.people_of(OWN_ORGANIZATION) else found
    own: Service | None = directory.cache[CACHED]
    return own


async def ensure_notification_service(network: Network) -> Service:
    """Return the service, which is created if it does not exist yet.

    Raises Refused if its organization has members: notifications must not be sent in the name of a member.
    """
    _check_no_members(network.directory)
    found = find_own_service(network.directory)
    if found is not None:
        return found
    service = Service(
        gcid=ids.gcid(network.randomness.bytes(8)),
        organization=OWN_ORGANIZATION,
        name=OWN_SERVICE,
        description="Sends notifications about the network",
        visibility=Visibility.PUBLIC,
        authentication=(),
    )
    own = Organization(name=OWN_ORGANIZATION, description="This network itself")
    is_new = network.directory.organization(OWN_ORGANIZATION) is None
    claim = DirectoryChange(kind=ADDRESS, key=service.address.casefold(), value={"service": service.gcid})
    changes = [*([build_save(own, 0)] if is_new else []), build_save(service), claim]
    try:
        await network.configuration.change(BY_NETWORK, changes, "first notification by message")
    except Refused:  # another node was faster
        await network.wait_until_indexed()
        await network.configuration.load()
    return find_own_service(network.directory) or service


def _check_no_members(directory: Directory) -> None:
    if directory.people_of(OWN_ORGANIZATION):
        raise Refused(
            "name.taken",
            f"The organization {OWN_ORGANIZATION}, which sends the network's notifications as messages, has members; choose "
            "another channel, or ask the operators to remove the members",
        )
