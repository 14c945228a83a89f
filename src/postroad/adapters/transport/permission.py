"""Destinations that pushes may reach: the public Internet by https, and others that the operator allows.

Rule: every address of a name must be allowed; one forbidden address rejects the name, because its owner chooses which
one comes first. Rule: a host that does not exist, one with an internal address and one that may not be reached
without TLS get the same text; otherwise members could learn the names of the operator's network.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_network

from postroad.adapters.transport.addresses import (
    Address,
    Network,
    describe_forbidden,
    describe_special,
    effective_address,
)
from postroad.adapters.transport.destination import Destination
from postroad.adapters.transport.no_answer import NoAnswer
from postroad.core.delivery.reasons import make_reason

ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Names and networks outside the public Internet, and names that may be reached without TLS."""

    names: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()
    without_tls: frozenset[str] = frozenset()

    @classmethod
    def of(cls, allow_private: Iterable[str], allow_http: Iterable[str] = ()) -> Permission:
        """Create a permission from the two settings; raises ValueError for a value that is neither a name nor a network."""
        names: set[str] = set()
        networks: list[Network] = []
        for text in allow_private:
            network = _network(text)
            if network is not None:
                networks.append(network)
            else:
                names.add(_name(text))
        without_tls = frozenset(text if text == ANY else _name(text) for text in allow_http)
        return cls(names=frozenset(names), networks=tuple(networks), without_tls=without_tls)

    def check(self, destination: Destination, addresses: Sequence[Address]) -> None:
        """Raise NoAnswer unless every address may be reached for this destination."""
        reached = [effective_address(address) for address in addresses]
        for address in reached:
            if describe_forbidden(address) or (describe_special(address) and not self._opened(destination, address)):
                raise not_allowed(destination)
        if destination.scheme == "http" and not self._without_tls(destination, reached):
            raise not_allowed(destination)

    def may_allow_http(self, destination: Destination) -> bool:
        """Whether the name may be reached without TLS, as far as this is known before it is resolved."""
        return self._named(destination) or bool(self.networks)

    def _named(self, destination: Destination) -> bool:
        return not self.without_tls.isdisjoint((ANY, destination.host)) or destination.host in self.names

    def _opened(self, destination: Destination, address: Address) -> bool:
        return destination.host in self.names or self._in_networks(address)

    def _in_networks(self, address: Address) -> bool:
        return any(address.version == network.version and address in network for network in self.networks)

    def _without_tls(self, destination: Destination, reached: Sequence[Address]) -> bool:
        return self._named(destination) or all(self._in_networks(address) for address in reached)


def not_allowed(destination: Destination) -> NoAnswer:
    """Return the error for a destination that may not be reached, or that does not exist."""
    settings = "push_allow_private" if destination.scheme == "https" else "push_allow_private or push_allow_http"
    return NoAnswer(make_reason("push.address-not-allowed", host=destination.host, settings=settings))


def _network(text: str) -> Network | None:
    """Return the network or single address in the text; None for a name; raises ValueError for an invalid network."""
    try:
        return ip_network(text)
    except ValueError:
        if "/" in text or ":" in text:
            raise
        return None


def _name(text: str) -> str:
    """Return the host name in the form of ``Destination.host``."""
    try:
        destination = Destination.of(f"https://{text}/")
    except NoAnswer:
        destination = None
    if destination is None or destination.target != "/" or ":" in text:
        raise ValueError(f"{text!r} is neither a host name nor a CIDR range such as 10.1.0.0/16")
    return destination.host
