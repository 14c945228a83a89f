"""Classifies IP addresses: whether one is on the public Internet, and if not, what it is.

Rule: an address is public only if no registry lists it as special. The tables are copied from IANA's registries of
special addresses, because Python's ``is_global`` differs between versions and treats several of these as public.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# No setting allows these: they have no receivers. The metadata services of cloud providers return credentials.
NEVER: dict[str, tuple[str, ...]] = {
    "unspecified": ("0.0.0.0/8", "::/128"),
    "multicast": ("224.0.0.0/4", "ff00::/8"),
    "broadcast": ("255.255.255.255/32",),
    "a metadata service": (
        "169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
        "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128", "fe80::a9fe:a9fe/128",
    ),
    "an obsolete tunnel": ("192.88.99.0/24", "2002::/16", "2001::/32", "3ffe::/16"),
}  # fmt: skip

# Outside the public Internet; an operator may allow them.
SPECIAL: dict[str, tuple[str, ...]] = {
    "this machine": ("127.0.0.0/8", "::1/128"),
    "a private network": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
    "link-local": ("169.254.0.0/16", "fe80::/10"),
    "a provider's internal network": ("100.64.0.0/10",),
    "reserved for documentation": ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
    "reserved for measurements": ("198.18.0.0/15", "2001:2::/48"),
    "reserved": ("192.0.0.0/24", "240.0.0.0/4", "2001::/23", "64:ff9b:1::/48", "100::/64", "5f00::/16"),
}

_NAT64 = IPv6Network("64:ff9b::/96")
_PUBLIC_V6 = IPv6Network("2000::/3")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)  # the upper half of an interface id whose lower half is an IPv4 address


def _networks(table: dict[str, tuple[str, ...]]) -> tuple[tuple[Network, str], ...]:
    return tuple(
        (IPv6Network(text) if ":" in text else IPv4Network(text), kind)
        for kind, texts in table.items()
        for text in texts
    )


_NEVER = _networks(NEVER)
_SPECIAL = _networks(SPECIAL)


def effective_address(address: Address) -> Address:
    """Return the address that is actually reached; IPv6 forms that routers translate become the IPv4 address."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def describe_forbidden(address: Address) -> str | None:
    """Return why an effective address is always forbidden; None if an operator can allow it."""
    if isinstance(address, IPv6Address) and _hides_ipv4(address):
        return "an obsolete tunnel"
    return _kind(address, _NEVER)


def describe_special(address: Address) -> str | None:
    """Return the kind of an effective address outside the public Internet; None for a public one."""
    kind = _kind(address, _NEVER) or _kind(address, _SPECIAL)
    if kind is None and isinstance(address, IPv6Address) and address not in _PUBLIC_V6:
        return "reserved"
    return kind or (None if address.is_global else "reserved")


def _kind(address: Address, table: tuple[tuple[Network, str], ...]) -> str | None:
    return next((kind for network, kind in table if address.version == network.version and address in network), None)


def _hides_ipv4(address: IPv6Address) -> bool:
    """Whether the address is IPv4-compatible or ISATAP; both contain an IPv4 address that the tables do not cover."""
    number = int(address)
    return 1 < number <= 0xFFFF_FFFF or (number >> 32) & 0xFFFF_FFFF in _ISATAP
