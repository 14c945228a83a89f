"""A push URL, parsed strictly: one spelling for one destination.

Rule: a URL that is not plainly a scheme, a host, a port and a path is refused, not repaired. With every lenient
parsing (userinfo, backslashes, numbers for addresses, letters that are folded into others), the check could use one
host and the connection another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from postroad.adapters.transport.no_answer import NoAnswer
from postroad.core.delivery.reasons import make_reason

PORTS = {"https": 443, "http": 80}
_URL = re.compile(
    r"(?P<scheme>https?)://(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<host>[a-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>/[A-Za-z0-9\-._~:/@!$&'()*+,;=%\[\]]*)?(?P<query>\?[A-Za-z0-9\-._~:/?@!$&'()*+,;=%\[\]]*)?",
    re.ASCII,
)
_AUTHORITY = re.compile(r"[A-Za-z]+://[^/?#\\]*")
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)  # a last label that some resolvers parse as part of an address
_MISTAKES = (
    (re.compile(r"\A(?!https?://)", re.IGNORECASE), "it must begin with https://"),
    (
        re.compile(r"\A[^/?#]*//[^/?#]*@"),
        "remove the user name and password; set them in the push's authentication",
    ),
    (
        re.compile(r"[^\x00-\x7f]"),
        "write other letters than a-z as the registry does (xn--…), and as %-escapes in the path",
    ),
    (re.compile(r"[\x00-\x20\x7f\\]"), "it has a blank, a control character or a backslash"),
    (re.compile(r"#"), "remove the part from # on; it is never sent"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The destination of a request; ``host`` is in lower case, without brackets and without a final dot."""

    scheme: str
    host: str
    port: int
    target: str
    address: IPv4Address | IPv6Address | None = None  # if the host is an address

    @classmethod
    def of(cls, url: str) -> Destination:
        """Return the destination of a URL; raises NoAnswer if the URL is not plain."""
        plain = _AUTHORITY.sub(lambda found: found[0].lower(), url, count=1)
        found = _URL.fullmatch(plain)
        if found is None:
            raise NoAnswer(make_reason("push.url", detail=_mistake(url)))
        host, address = _host(found)
        port = int(found["port"] or PORTS[found["scheme"]])
        if not 1 <= port <= 65_535:
            raise NoAnswer(make_reason("push.url", detail="its port must be between 1 and 65535"))
        target = (found["path"] or "/") + (found["query"] or "")
        return cls(scheme=found["scheme"], host=host, port=port, target=target, address=address)

    @property
    def authority(self) -> str:
        """Return the value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def _host(found: re.Match[str]) -> tuple[str, IPv4Address | IPv6Address | None]:
    try:
        if found["v6"] is not None:
            address = IPv6Address(found["v6"])
            return str(address), address
        host = found["host"].removesuffix(".")
        if _NUMBER.fullmatch(host.rpartition(".")[2]):
            return host, IPv4Address(host)
    except AddressValueError:
        raise NoAnswer(
            make_reason("push.url", detail="write the address as four decimal numbers or as [IPv6]")
        ) from None
    if len(host) > 253 or not _NAME.fullmatch(host):
        raise NoAnswer(make_reason("push.url", detail="its host is not a name"))
    return host, None


def _mistake(url: str) -> str:
    return next((advice for pattern, advice in _MISTAKES if pattern.search(url)), "write it as https://host/path")
