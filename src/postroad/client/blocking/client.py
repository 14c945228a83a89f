# Generated from nonblocking/client.py by `python -m scripts.blocking_client`; edit that file instead.
"""The blocking client: one method for each operation of the API."""

from __future__ import annotations

import os
import random
import secrets
import ssl
import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Unpack

from postroad.client import configuration, contents, external_format, provisioning, requests, responses, routing
from postroad.client.access import Access
from postroad.client.blocking.batches import Batches
from postroad.client.blocking.billing import Billing
from postroad.client.blocking.bindings import Bindings
from postroad.client.blocking.credentials import Certificates, StoredSecrets
from postroad.client.blocking.dead_letters import DeadLetters
from postroad.client.blocking.models import Models
from postroad.client.blocking.notifications import Notifications
from postroad.client.blocking.runner import ConversationRunner, Function
from postroad.client.chunk_post import Answer
from postroad.client.compose import MessageFields, message
from postroad.client.consumer import build_answer, consume
from postroad.client.conversations import Conversations, Progress
from postroad.client.external_format import NO_HEADERS, PlainMessage
from postroad.client.received_message import Received
from postroad.client.retries import Retrying
from postroad.client.steps import TIMEOUT_S
from postroad.core.model.message import Delivered, Message, Part, PostResult
from postroad.core.model.polling import EVERYTHING, Outcome, PollRequest, Selector, Settlement, SettlementResult
from postroad.core.resources.configuration import PlanView
from postroad.core.resources.histories import Trace
from postroad.core.resources.messages import Found
from postroad.core.resources.services import AssetView, BegunProvisioning, CookieView, ProvisioningView, ReleaseView


class Client:
    """The blocking client; safe for threads, except that only one ``handle`` runs at a time."""

    def __init__(
        self,
        url: str = "",
        key: str = "",
        *,
        key_file: str | os.PathLike[str] = "",
        access: Access | None = None,
        retrying: Retrying | None = None,
        timeout_s: float = TIMEOUT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Without arguments, address and key are read from POSTROAD_URL and POSTROAD_KEY or POSTROAD_KEY_FILE."""
        self.access = access or Access.found_in(os.environ, url=url, key=key, key_file=key_file, needs_key=tls is None)
        self._talks = Conversations(
            retrying=retrying or Retrying(), jitter=random.random, fresh_key=lambda: secrets.token_hex(16)
        )
        self._runner = ConversationRunner(self.access, timeout_s, tls)
        self._run = self._runner.run

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; ``with`` does it, too."""
        self._runner.close()

    # ---- messages

    def post(self, **fields: Unpack[MessageFields]) -> PostResult:
        """Post one message; returns once the network has made it durable."""
        return self.post_message(message(**fields))

    def post_message(self, prepared: Message) -> PostResult:
        """Post a message that ``message`` or a program has built."""
        return self._run(self._talks.post(prepared))

    def post_many(self, messages: Iterable[Message], progress: Progress = lambda done: None) -> list[Answer]:
        """Post many messages in a few calls; returns one answer each, in order. ``progress`` gets the count so far."""
        return self._run(self._talks.post_many(messages, progress))

    def poll(
        self,
        most: int = 10,
        *,
        wait_s: float = 0.0,
        lease_s: float = 0.0,
        select: Selector = EVERYTHING,
        trace: bool = False,
    ) -> list[Received]:
        """Lease waiting messages, which are redelivered after the lease unless acknowledged; ``trace`` adds ``message.trace``."""
        polling = PollRequest(max=most, wait_s=wait_s, lease_s=lease_s, select=select, trace=trace)
        return self._run(self._talks.poll(polling))

    def post_wire(
        self,
        body: bytes,
        content_type: str,
        *,
        headers: Mapping[str, str] = NO_HEADERS,
        **fields: Unpack[MessageFields],
    ) -> PostResult:
        """Post bytes in an external format (SOAP, multipart, DIME, any document); the fields address it."""
        return self._run(self._talks.post_wire(body, content_type, message(**fields), headers))

    def next_message(self, *, wait_s: float = 0.0, lease_s: float = 0.0) -> PlainMessage | None:
        """Return the next waiting message in the service's own format, or None; acknowledge its ``token`` afterwards."""
        return self._run(self._talks.ask(external_format.next_message(wait_s, lease_s), external_format.parse_message))

    def acknowledge(self, *messages: Delivered | str) -> SettlementResult:
        """Acknowledge messages (or tokens), so that they are not redelivered."""
        return self._run(self._talks.settle(Settlement(tokens=requests.list_tokens(messages))))

    def give_back(self, *messages: Delivered | str, delay_s: float = 0.0, reason: str = "") -> SettlementResult:
        """Give back messages that could not be handled; they are redelivered after the delay."""
        settlement = Settlement(
            tokens=requests.list_tokens(messages), outcome=Outcome.NACK, delay_s=delay_s, reason=reason
        )
        return self._run(self._talks.settle(settlement))

    def reply(self, delivered: Delivered, document: Any = None) -> PostResult:
        """Answer a request, which also acknowledges it; ``document`` may be a ``Reply`` with several or a status."""
        return self._run(self._talks.reply(build_answer(delivered, document)))

    def cancel(self, session: str) -> PostResult:
        """Withdraw undelivered copies; the result states for each recipient whether that succeeded."""
        return self._run(self._talks.cancel(session))

    def handle(
        self,
        function: Function,
        *,
        most: int = 10,
        wait_s: float = 20.0,
        lease_s: float = 300.0,
        select: Selector = EVERYTHING,
    ) -> int:
        """Call ``function`` with every message until SIGINT, SIGTERM or ``stop``; returns how many were handled.

        A message is acknowledged when the function returns; its return value is the reply to a request. An exception
        returns the message, which is redelivered later. A message that could not be started within ``lease_s`` is
        redelivered, too.
        """
        polling = PollRequest(max=most, wait_s=wait_s, lease_s=lease_s, select=select)
        stopping = self._runner.stopping
        with stopping.by_signals():
            return self._run(consume(self._talks, polling, stopping, time.monotonic), function)

    def stop(self) -> None:
        """End ``handle`` (the next one, if none runs) after its current message or wait; for other threads and the function."""
        self._runner.stopping.ask()

    # ---- looking and configuring

    def find(self, text: str, *, most: int = 0) -> list[Found]:
        """Return everything that a text identifies, or the first ``most`` results.

        The text is a session, token, handle, control number, partner's reference or search key, the id of a batch, or
        the GCID or address of a service. In a result, ``by`` is the kind of identifier that matched.
        """
        return self._run(routing.find(self._talks, text, most))

    def trace(self, session: str) -> Trace:
        """Return the full history of the session's transaction."""
        return self._run(self._talks.ask(requests.trace(session), responses.parse_history))

    def parts_at(self, session: str, delivery: int) -> tuple[Part, ...]:
        """Return the message as delivered to one stop of its trace, as far as the caller may see it."""
        return self._run(contents.load_parts(self._talks, session, delivery))

    def mdn_at(self, session: str, delivery: int) -> bytes:
        """Return the MDN with which the AS2 partner confirmed the message at one stop of the trace."""
        return self._run(contents.load_mdn(self._talks, session, delivery))

    receipt_at = mdn_at  # deprecated name

    def contents(self, history: Trace) -> dict[int, tuple[Part, ...]]:
        """Return what was delivered to each stop of a history, by delivery number."""
        return self._run(contents.load_contents(self._talks, history))

    def get(self, path: str, **query: str | int) -> Any:
        """Return any resource of the API, as JSON."""
        return self._run(self._talks.value(requests.read(path, **query)))

    def every(self, path: str, **query: str) -> list[dict[str, Any]]:
        """Return every item of a list of the API, over all pages."""
        return self._run(routing.list_all(self._talks, path, **query))

    def change(self, method: str, path: str, value: Any = None, *, version: str = "") -> Any:
        """Create, replace or remove a resource; ``version`` is the ETag that was read.

        A POST whose answer was lost is not retried, because only messages are recognised when they are repeated.
        """
        request = requests.change(method, path, value, version=version, doubles=method == "POST")
        return self._run(self._talks.value(request))

    def export(self) -> dict[str, Any]:
        """Return the configuration that the caller may see, without secrets."""
        return self._run(self._talks.ask(configuration.export(), configuration.parse_export))

    def plan(self, desired: dict[str, Any], *, prune: bool = False) -> PlanView:
        """Return what ``apply`` would change."""
        return self._run(self._talks.ask(configuration.plan(desired, prune), configuration.parse_plan))

    def apply(self, desired: dict[str, Any], *, prune: bool = False, version: str = "") -> PlanView:
        """Apply the configuration atomically; ``version`` is that of the plan that was agreed to."""
        return self._run(self._talks.ask(configuration.apply(desired, prune, version), configuration.parse_plan))

    # ---- rules and assets of services

    def rules(self, service: str) -> list[dict[str, Any]]:
        """The rules of a service, in their order."""
        return self._run(routing.list_all(self._talks, routing.service_path(service, "rules")))

    def rule(self, service: str, name: str) -> Any:
        """Return one rule of a service."""
        return self._run(self._talks.value(requests.read(routing.service_path(service, "rules", name))))

    def save_rule(self, service: str, rule: Mapping[str, Any]) -> dict[str, Any]:
        """Make the rule, or replace the one of its name; written as in a configuration document."""
        return self._run(routing.save_rule(self._talks, service, rule))

    def adjust_rule(self, service: str, name: str, **wish: Any) -> dict[str, Any]:
        """Change a rule: ``enabled=False`` disables it, ``place=1`` moves it to the front."""
        return self._run(routing.adjust_rule(self._talks, service, name, **wish))

    def remove_rule(self, service: str, name: str) -> None:
        """Remove a rule."""
        self._run(routing.remove_rule(self._talks, service, name))

    def assets(self, service: str, kind: str = "") -> list[AssetView]:
        """The assets of a service, without their contents."""
        return self._run(routing.list_assets(self._talks, service, kind))

    def asset(self, service: str, kind: str, name: str) -> str:
        """The content of an asset; ``kind`` is stylesheet, table, list, map, query, script, schema, dtd or jsonschema."""
        return self._run(routing.load_asset(self._talks, service, kind, name))

    def save_asset(
        self, service: str, kind: str, name: str, content: str, *, description: str | None = None
    ) -> AssetView:
        """Make the asset, or replace the one of its name, once the network has found it in order."""
        return self._run(routing.save_asset(self._talks, service, kind, name, content, description))

    def remove_asset(self, service: str, kind: str, name: str) -> None:
        """Remove an asset."""
        self._run(routing.remove_asset(self._talks, service, kind, name))

    def release(self, service: str) -> ReleaseView:
        """Release all waiting messages of a service; returns how many messages are pushed."""
        return self._run(routing.release(self._talks, service))

    # ---- why a message goes its way

    def explain(self, form: str = "json", **fields: Unpack[MessageFields]) -> Any:
        """Return how a message would be routed; nothing is sent. ``form`` is json, text or svg."""
        return self.explain_message(message(**fields), form)

    def explain_message(self, prepared: Message, form: str = "json") -> Any:
        """Return how a prepared message would be routed; see ``explain``."""
        return self._run(self._talks.ask(routing.explain(prepared, form), routing.parse_explanation))

    def explanation(self, session: str, form: str = "json") -> Any:
        """Return how a posted message was routed, and why."""
        return self._run(self._talks.ask(routing.explanation(session, form), routing.parse_explanation))

    def try_out(self, **wish: Any) -> Any:
        """Try a rule, condition, stylesheet or schema on a message; nothing is stored or sent."""
        return self._run(self._talks.ask(routing.build_trial(wish), routing.parse_trial))

    @property
    def bindings(self) -> Bindings:
        """The bindings API: create, list, try and remove bindings."""
        return Bindings(self._talks, self._run)

    @property
    def models(self) -> Models:
        """The models API: read, change and import trees, attach services, and find receivers."""
        return Models(self._talks, self._run)

    @property
    def batches(self) -> Batches:
        """The batches API: list, release, pause, resume and drop batches."""
        return Batches(self._talks, self._run)

    @property
    def billing(self) -> Billing:
        """The billing API: read usage and invoices; operators issue, credit and record payments."""
        return Billing(self._talks, self._run)

    @property
    def certificates(self) -> Certificates:
        """The certificates API: register client certificates with proof that you hold their keys."""
        return Certificates(self._talks, self._run)

    @property
    def dead_letters(self) -> DeadLetters:
        """The dead letters API: list, resend and drop messages that failed."""
        return DeadLetters(self._talks, self._run)

    @property
    def secrets(self) -> StoredSecrets:
        """The secrets API: set, list and remove secrets; operators rotate the network's keys."""
        return StoredSecrets(self._talks, self._run)

    @property
    def notifications(self) -> Notifications:
        """The notifications API: list, save, remove and test subscriptions."""
        return Notifications(self._talks, self._run)

    # ---- trust

    def confirm_provisioning(self, gcid: str, token: str, cookie: Any = None) -> None:
        """For providers: confirm that the service stands for a customer's account; the cookie is sent with its messages."""
        self._run(
            provisioning.send_and_wait(
                self._talks, provisioning.build_confirmation(gcid, token, cookie), gcid=gcid, then="active"
            )
        )

    def inspect_provisioning(self, gcid: str, token: str) -> ProvisioningView:
        """For providers: return who requests the connection; show this on the page before the login."""
        return self._run(provisioning.inspect(self._talks, gcid, token))

    def revoke_provisioning(self, gcid: str) -> None:
        """For providers and connected services: revoke the provisioning at once."""
        self._run(
            provisioning.send_and_wait(self._talks, provisioning.build_revocation(gcid), gcid=gcid, then="revoked")
        )

    def register_cookie(self, sender: str, cookie: Any) -> None:
        """For services: store a cookie that is delivered with every message from the sender; None removes it."""
        self._run(provisioning.send_and_wait(self._talks, provisioning.build_registration(sender, cookie)))

    def begin_provisioning(
        self, organization: str, provider: str, service: str, *, return_path: str = ""
    ) -> BegunProvisioning:
        """For persons: connect a service to an account with a provider; ``redirect`` is the login URL."""
        return self._run(provisioning.begin(self._talks, organization, provider, service, return_path))

    def provisionings(self, organization: str) -> list[ProvisioningView]:
        """Return the provisionings that the organization has begun, or confirmed as a provider."""
        return self._run(provisioning.list_provisionings(self._talks, organization))

    def end_provisioning(self, service: str) -> None:
        """For persons of either party: revoke the provisioning at once."""
        self.change("DELETE", provisioning.provisioning_path(service))

    def cookies(self, service: str) -> list[CookieView]:
        """The cookies that a service of your organization has registered."""
        return self._run(provisioning.list_cookies(self._talks, service))

    def set_cookie(self, service: str, sender: str, content: str, *, content_type: str = "text/plain") -> CookieView:
        """Register the cookie that a service of your organization receives with every message from the sender."""
        return self._run(provisioning.set_cookie(self._talks, service, sender, content, content_type))

    def remove_cookie(self, service: str, sender: str) -> None:
        """Remove the cookie for messages from the sender."""
        self.change("DELETE", provisioning.cookie_path(service, sender))
