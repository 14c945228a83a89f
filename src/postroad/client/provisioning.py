"""Provisionings and cookies in the client: messages to the provisioning service, and page requests.

A provider's confirmation is a message like any other, and so is the answer; an answer without a status reports
success. Rule: the query parameters of the provider's page are untrusted until they have been checked, above all the
return address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from postroad.client import requests
from postroad.client.compose import message
from postroad.client.conversations import Conversations
from postroad.client.documents import make_part
from postroad.client.responses import parser
from postroad.client.routing import list_items, service_path
from postroad.client.steps import Talk
from postroad.core.model.message import Message, MessageType
from postroad.core.model.polling import PollRequest, Selector, Settlement
from postroad.core.resources.services import (
    BegunProvisioning,
    CookiePage,
    CookieView,
    ProvisioningPage,
    ProvisioningView,
)
from postroad.errors import Refused, Unavailable

OWN_SERVICE = "Network/Provisioning"
STEP_S, STEPS = 2.0, 15  # how long an answer is waited for
HEX = re.compile(r"[0-9a-f]{16}", re.ASCII)
PARAMETERS = ("serviceID", "token", "returnURL")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisioningRedirect:
    """A person's arrival at the provider's page: the service's GCID, the token and the return URL."""

    gcid: str
    token: str
    return_url: str

    @classmethod
    def from_query(cls, query: str | Mapping[str, str], network: str) -> ProvisioningRedirect:
        """Parse and check the query of the page's URL; ``network`` is where people may return to."""
        pairs = parse_qsl(query.removeprefix("?")) if isinstance(query, str) else list(query.items())
        given = [(name, value) for name, value in pairs if name in PARAMETERS]
        found = dict(given)
        if len(given) != len(PARAMETERS) or len(found) != len(PARAMETERS):
            raise Refused("value.invalid", "The request must have serviceID, token and returnURL, each once")
        redirect = cls(gcid=found["serviceID"], token=found["token"], return_url=found["returnURL"])
        if not (HEX.fullmatch(redirect.gcid) and HEX.fullmatch(redirect.token)):
            raise Refused("value.invalid", "serviceID and token must be 16 hex digits each; start again at the network")
        if not _leads_to(redirect.return_url, network):
            raise Refused("value.invalid", f"returnURL does not lead to {network}; start again at the network")
        return redirect


ProvisioningVisit = ProvisioningRedirect  # deprecated name


def _leads_to(url: str, network: str) -> bool:
    """Whether a browser that follows the address arrives at the network."""
    plain = url.isascii() and url.isprintable() and not set(url) & set('\\ "<>')
    try:
        parts, home = urlsplit(url), urlsplit(network)
        same = (parts.scheme, parts.netloc) == (home.scheme, home.netloc)
    except ValueError:
        return False
    return plain and same and parts.scheme in ("http", "https") and bool(parts.netloc)


# ---- what a provider's service says


def build_confirmation(gcid: str, token: str, cookie: Any = None) -> Message:
    return _make_message("provisioning.confirm", {"GCID": gcid, "token": token}, cookie)


def build_revocation(gcid: str) -> Message:
    return _make_message("provisioning.revoke", {"GCID": gcid})


def build_registration(sender: str, cookie: Any) -> Message:
    return _make_message("cookie.register", {"GCID": sender}, cookie)


def _make_message(topic: str, arguments: dict[str, str], cookie: Any = None) -> Message:
    documents = []
    if cookie is not None:
        documents = [make_part(cookie)]
        arguments["cookie"] = documents[0].id
    return message(to=OWN_SERVICE, type=MessageType.REQUEST, topic=topic, arguments=arguments, documents=documents)


def send_and_wait(talks: Conversations, prepared: Message, *, gcid: str = "", then: str = "") -> Talk[None]:
    """Send a message and wait for its answer; raises the refusal if it is one.

    Another consumer of the same service may take the answer. If a provisioning shows that it has reached the desired
    state, that is an answer, too.
    """
    posted = yield from talks.post(prepared)
    select = Selector(type=MessageType.RESPONSE, transaction=posted.transaction)
    for _ in range(STEPS):
        answers = yield from talks.poll(PollRequest(max=1, wait_s=STEP_S, select=select))
        for answer in answers:
            yield from talks.settle(Settlement(tokens=(answer.token,)))
            if answer.status is not None:
                raise Refused(answer.status.code, answer.status.text, session=posted.session)
            return
        if then and (yield from _state(talks, gcid)) == then:
            return
    raise Unavailable(
        "answer.late",
        f"{OWN_SERVICE} has not responded, or another consumer of this service received the response; see `postroad trace "
        f"{posted.session}`",
    )


def _state(talks: Conversations, gcid: str) -> Talk[str]:
    try:
        found = yield from talks.ask(requests.read(provisioning_path(gcid)), parser(ProvisioningView))
    except Refused:
        return ""
    return found.state


# ---- what people ask for


def begin(talks: Conversations, organization: str, provider: str, service: str, page: str) -> Talk[BegunProvisioning]:
    wish = {"provider": provider, "service": service, "returnPath": page}
    request = requests.change("POST", provisionings_path(organization), wish, doubles=True)
    return talks.ask(request, parser(BegunProvisioning))


def inspect(talks: Conversations, gcid: str, token: str) -> Talk[ProvisioningView]:
    request = requests.change("POST", f"{provisioning_path(gcid)}/inspection", {"token": token}, doubles=True)
    return talks.ask(request, parser(ProvisioningView))


def list_provisionings(talks: Conversations, organization: str) -> Talk[list[ProvisioningView]]:
    return list_items(talks, provisionings_path(organization), ProvisioningPage, 0)


def list_cookies(talks: Conversations, service: str) -> Talk[list[CookieView]]:
    return list_items(talks, service_path(service, "cookies"), CookiePage, 0)


def set_cookie(talks: Conversations, service: str, sender: str, content: str, content_type: str) -> Talk[CookieView]:
    wish = {"content": content, "contentType": content_type}
    return talks.ask(requests.change("PUT", cookie_path(service, sender), wish), parser(CookieView))


def provisioning_path(service: str) -> str:
    return f"/v1/provisionings/{quote(service)}"


def provisionings_path(organization: str) -> str:
    return f"/v1/organizations/{quote(organization, safe='')}/provisionings"


def cookie_path(service: str, sender: str) -> str:
    return service_path(service, "cookies") + f"/{quote(sender)}"
