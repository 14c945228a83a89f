"""The MDN that a sender requests: none, synchronous or asynchronous; signed or not.

Rule: requests are parsed leniently (capitals, blanks and order), but an option that is ``required`` and not supported
is refused with the disposition that RFC 4130 has for it, never silently replaced.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from postroad.core.codecs.as2.headers import require_printable
from postroad.core.codecs.as2.mic import find_digest_name, micalg
from postroad.errors import Refused

PROTOCOL = "pkcs7-signature"
_PROTOCOLS = (PROTOCOL, "x-pkcs7-signature")


@dataclass(frozen=True, slots=True, kw_only=True)
class MdnRequest:
    wanted: bool = False
    signed: bool = False
    digests: tuple[str, ...] = ()  # supported ones, in the sender's order
    url: str = ""  # where to post the MDN later; "" for at once
    unsupported: str = ""  # what is required and cannot be done, as a refusal code; "" when all can

    @property
    def digest(self) -> str:
        """The first digest that was asked for and is supported; "" when none was."""
        return self.digests[0] if self.digests else ""

    def refuse_unsupported(self) -> None:
        if self.unsupported:
            raise Refused(
                self.unsupported,
                f"The requested kind of MDN is not supported; request {PROTOCOL} and sha-256",
            )


NO_MDN_REQUEST = MdnRequest()


def read_mdn_request(fields: dict[str, str]) -> MdnRequest:
    """Reads the requested MDN from header fields with lower-case names."""
    if not fields.get("disposition-notification-to"):
        return NO_MDN_REQUEST
    wish = _wish(fields.get("disposition-notification-options", ""))
    url = fields.get("receipt-delivery-option")
    return replace(wish, url=require_printable(url, "Receipt-Delivery-Option")) if url else wish


@lru_cache(maxsize=256)  # every partner has its own way to write them, and writes them in every message
def _wish(value: str) -> MdnRequest:
    options = _options(value)
    protocol_required, protocols = options.get("signed-receipt-protocol", (False, []))
    digest_required, spellings = options.get("signed-receipt-micalg", (False, []))
    signed = any(protocol.lower() in _PROTOCOLS for protocol in protocols)
    digests = tuple(dict.fromkeys(filter(None, map(find_digest_name, spellings))))
    unsupported = "as2.unsupported-mic-algorithms" if digest_required and spellings and not digests else ""
    if protocol_required and protocols and not signed:
        unsupported = "as2.unsupported-format"
    return MdnRequest(wanted=True, signed=signed, digests=digests, unsupported=unsupported)


def _options(value: str) -> dict[str, tuple[bool, list[str]]]:
    """``name=importance, value, value; …`` as name → (whether it is required, values)."""
    found: dict[str, tuple[bool, list[str]]] = {}
    for option in value.split(";"):
        name, _, rest = option.partition("=")
        words = [word.strip(" \t\"'") for word in rest.split(",")]
        importance = words[0].lower()
        values = words[1:] if importance in ("required", "optional") else words  # some leave the importance out
        found.setdefault(name.strip().lower(), (importance == "required", [word for word in values if word]))
    return found


def options_value(digest: str) -> str:
    """Return Disposition-Notification-Options for a signed MDN with a MIC of this digest."""
    return f"signed-receipt-protocol=required, {PROTOCOL}; signed-receipt-micalg=required, {micalg(digest)}"
