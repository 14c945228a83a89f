"""The SDK: post, poll, reply and consume from Python, blocking (``Client``) or with asyncio (``AsyncClient``).

    with Client("http://127.0.0.1:8470", key="pr_…") as network:
        network.post(to="TheAcmeCompany/Supply", document="<PurchaseOrder/>")

Design: ``requests`` builds requests and ``responses`` parses answers, both pure. ``conversations`` puts them in order
(retries, bulk, the consumer's loop) as generators that yield the next step. ``nonblocking`` and ``blocking`` have one
method for each and a runner that performs the steps; the blocking methods are generated from the asynchronous ones, so
both kinds of programs behave the same.

Errors are those of ``postroad.errors``: ``Refused`` (with ``code``, ``detail``, ``session``) when the network refuses
a request, and ``Unavailable`` when it cannot be reached or is too busy after all retries.
"""

from postroad.client.access import Access
from postroad.client.blocking.client import Client
from postroad.client.compose import message
from postroad.client.consumer import Reply
from postroad.client.documents import json_of, text_of
from postroad.client.external_format import PlainMessage
from postroad.client.nonblocking.client import AsyncClient
from postroad.client.provisioning import ProvisioningRedirect, ProvisioningVisit
from postroad.client.received_message import Received
from postroad.client.retries import Retrying
from postroad.core.model.message import Cookie, Delivered, Message, MessageType, Part, PostResult, Status
from postroad.core.model.polling import Selector
from postroad.errors import PostroadError, Refused, Unavailable

__all__ = [
    "Access",
    "AsyncClient",
    "Client",
    "Cookie",
    "Delivered",
    "Message",
    "MessageType",
    "Part",
    "PlainMessage",
    "PostResult",
    "PostroadError",
    "ProvisioningRedirect",
    "ProvisioningVisit",
    "Received",
    "Refused",
    "Reply",
    "Retrying",
    "Selector",
    "Status",
    "Unavailable",
    "json_of",
    "message",
    "text_of",
]
