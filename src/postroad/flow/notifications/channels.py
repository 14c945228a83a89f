"""Sends one notification over the channel of its subscription.

Rules: every error is a text, never an exception. The id of the notification is the message's Idempotency-Key, the webhook's id
and part of the Message-ID, so a notification that is sent twice can be recognized.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256

from postroad.core.delivery.push_request import PushRequest
from postroad.core.identity import webhook
from postroad.core.identity.tokens import Tokens
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service, is_same_organization
from postroad.core.model.mail import Mail
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.subscription import Channel, Subscription, is_reference
from postroad.core.notifications.digests import Notification
from postroad.core.notifications.texts import write_document, write_short_text, write_subject, write_text
from postroad.errors import Misconfigured, Refused, Unavailable
from postroad.flow.network import Network
from postroad.flow.notifications.own_service import ensure_notification_service
from postroad.flow.stages.posting import Posting
from postroad.ports import Mailer, Pusher, Secrets

JSON = "application/json"
TIMEOUT_S = 15.0
MAX_FAULT = 300
NO_MAIL_SERVER = "no mail server is set; the operator sets smtp_url"


class ChannelSender:
    """Sends notifications of all channels."""

    def __init__(
        self, network: Network, pusher: Pusher, secrets: Secrets, mailer: Mailer | None, url: Callable[[], str]
    ) -> None:
        self._network = network
        self._pusher = pusher
        self._secrets = secrets
        self._mailer = mailer
        self._url = url

    async def send(self, subscription: Subscription, notification: Notification) -> str:
        """Send it once; returns why it could not be sent, or an empty string."""
        try:
            match subscription.channel:
                case Channel.MESSAGE:
                    return await self._post(subscription, notification)
                case Channel.EMAIL:
                    return await self._mail(subscription, notification)
                case Channel.WEBHOOK:
                    document = json.dumps(write_document(notification, self._url()), ensure_ascii=False).encode()
                    return await self._push(subscription, notification, document, signed=True)
                case Channel.SLACK:
                    text = write_short_text(notification, self._url())
                    return await self._push(subscription, notification, json.dumps({"text": text}).encode())
        except (Refused, Unavailable) as error:
            return f"{error.code}: {error.detail}"[:MAX_FAULT]
        except Misconfigured as error:
            return str(error)[:MAX_FAULT]

    async def _post(self, subscription: Subscription, notification: Notification) -> str:
        service = self._network.directory.service(subscription.address)
        if service is None:
            return f"the service {subscription.address} does not exist"
        if subscription.organization and not is_same_organization(service.organization, subscription.organization):
            return f"the service {subscription.address} belongs to another organization"
        own = await ensure_notification_service(self._network)
        document = json.dumps(write_document(notification, self._url()), ensure_ascii=False).encode()
        message = Message(
            to=(Recipient(service.gcid),),
            topic=f"notification.{notification.event}",
            parts=(Part(id="notification", content_type=JSON, data=document),),
        )
        posting = Posting(message, len(document), "network", notification.id)
        result = await self._network.carry_out(Caller.inside(own), posting)
        refused = [one for one in result.recipients if one.code]
        return f"{refused[0].code}: {refused[0].detail}"[:MAX_FAULT] if refused else ""

    async def _mail(self, subscription: Subscription, notification: Notification) -> str:
        if self._mailer is None:
            return NO_MAIL_SERVER
        url = self._url()
        mail = Mail(
            to=subscription.address,
            subject=write_subject(notification),
            text=write_text(notification, url),
            id=notification.id,
            unsubscribe=f"{url}/notifications/unsubscribe?token={make_unsubscribe_token(self._network.tokens, subscription)}",
        )
        return await self._mailer.send(mail)

    async def _push(
        self, subscription: Subscription, notification: Notification, body: bytes, *, signed: bool = False
    ) -> str:
        headers = {"content-type": JSON}
        if signed:
            secret = webhook.secret_bytes(signing_secret(self._network.tokens, subscription))
            now_s = self._network.clock.now_us() // 1_000_000
            headers |= webhook.headers(secret, f"msg_{notification.id}", now_s, body)
        request = PushRequest(url=await self._read_url(subscription), headers=headers, body=body, timeout_s=TIMEOUT_S)
        answer = await self._pusher.push(request)
        if answer.status is None:
            return answer.fault_text[:MAX_FAULT]
        return "" if 200 <= answer.status < 300 else f"the receiver answered {answer.status}"

    async def _read_url(self, subscription: Subscription) -> str:
        if not is_reference(subscription.address):
            return subscription.address
        owner = Service(gcid="", organization=subscription.organization, name="notifications")
        await self._secrets.prepare(owner, subscription.address)
        return self._secrets.secret(owner, subscription.address)


def signing_secret(tokens: Tokens, subscription: Subscription) -> str:
    """Return the secret that signs a subscription's webhooks, as receivers keep it.

    It is derived from the network's first key, and stored nowhere. A rotation does not change it.
    """
    return webhook.secret_text(tokens.secret_for(f"notification webhook {subscription.key}"))


def make_unsubscribe_token(tokens: Tokens, subscription: Subscription) -> str:
    """Return the token that ends a subscription; it is valid for this address only."""
    named = urlsafe_b64encode(subscription.key.encode()).decode().rstrip("=")
    signed = f"{subscription.key}\n{subscription.address}"
    return f"{named}.{hmac.new(tokens.secret_for('notification unsubscribe'), signed.encode(), sha256).hexdigest()}"
