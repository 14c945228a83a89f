"""Where the network may go: everywhere in the public Internet by https, and where the operator allows it beyond that.

Kept rule: every address that a name has led to must be allowed; one that is not condemns the name, because whoever owns the
name chooses which of them comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_network

from postroad.adapters.transport.addresses import Address, Network, meant, never_allowed, special
from postroad.adapters.transport.destination import Destination
from postroad.adapters.transport.no_answer import NoAnswer

ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Names and networks outside the public Internet, and names that may be reached without TLS."""

    names: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()
    without_tls: frozenset[str] = frozenset()

    @classmethod
    def of(cls, allow_private: Iterable[str], allow_http: Iterable[str] = ()) -> Permission:
        """From the settings of these names; raises ValueError for what is neither a name nor a network."""
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
        """Raises NoAnswer unless every one of the addresses may be reached at this destination."""
        reached = [meant(address) for address in addresses]
        for address in reached:
            if kind := never_allowed(address):
                raise NoAnswer(
                    f"{destination.host} leads to an address that is never pushed to ({kind}); use another one"
                )
            if (kind := special(address)) and not self._opened(destination, address):
                raise NoAnswer(
                    f"{destination.host} leads to an address outside the public Internet ({kind}); use a public one, "
                    "or have the operator allow it in push_allow_private"
                )
        if destination.scheme == "http" and not self._without_tls(destination, reached):
            raise NoAnswer(
                f"{destination.host} may not be pushed to without TLS; use https, "
                "or have the operator allow it in push_allow_http"
            )

    def _opened(self, destination: Destination, address: Address) -> bool:
        return destination.host in self.names or self._in_networks(address)

    def _in_networks(self, address: Address) -> bool:
        return any(address.version == network.version and address in network for network in self.networks)

    def _without_tls(self, destination: Destination, reached: Sequence[Address]) -> bool:
        if not self.without_tls.isdisjoint((ANY, destination.host)) or destination.host in self.names:
            return True
        return all(self._in_networks(address) for address in reached)


def _network(text: str) -> Network | None:
    """The network or single address that is written there; None when it looks like a name. A wrong network is no name."""
    try:
        return ip_network(text)
    except ValueError:
        if "/" in text or ":" in text:
            raise
        return None


def _name(text: str) -> str:
    """The host name, as destinations have it."""
    try:
        destination = Destination.of(f"https://{text}/")
    except NoAnswer:
        destination = None
    if destination is None or destination.target != "/" or ":" in text:
        raise ValueError(f"{text!r} is neither a host name nor a network such as 10.1.0.0/16")
    return destination.host
