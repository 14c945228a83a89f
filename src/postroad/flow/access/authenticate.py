"""Authenticate requests: from credentials to a Caller.

Rules: every failure gets the same answer and, for passwords, takes the same time. Frequent failures slow the client
down. A success is cached briefly under the directory's version, so that a revoked credential is refused at once and a
password's slow hash is not computed for every message. The cache does not help to guess a password.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

from postroad.core.configuration.passwords import MAX_PASSWORDS
from postroad.core.identity import api_key
from postroad.core.identity.expiry import BROWSER, INVITATION, LINK, RESET
from postroad.core.metrics.registry import Metrics
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Credential, CredentialKind
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.access.registration_limit import RegistrationLimit
from postroad.flow.access.throttle import Throttle, normalize_peer
from postroad.flow.concurrency.keyed_limit import KeyedSemaphore
from postroad.ports import Clock, Passwords

MAX_REMEMBERED = 10_000
REMEMBERED_S = 300.0
MAX_NAME = 300  # characters that tell the names of accounts apart

LOGIN_FAILED = "E-mail or password is wrong"
REQUIRED = (
    "Send a service's or person's API key (Authorization: Bearer pr_…), a name and password (Basic), or a registered "
    "client certificate"
)
NOT_KNOWN = (
    "The credentials are not valid here: they are wrong, were revoked, or belong to another network. " + REQUIRED
)


class Proof(NamedTuple):
    """The credentials of a request."""

    authorization: bytes = b""
    certificate_der: bytes | None = None
    secure: bool = False
    in_console: bool = False  # the key came in a console cookie, not in an Authorization header


class RememberedCaller(NamedTuple):
    """A successful authentication that is cached until it expires or the directory changes."""

    caller: Caller
    credential: Credential
    directory_version: int
    until: float
    account: str


MemoryKey = Proof | tuple[Proof, str]  # a password's with the address that it came from
CheckedCaller = tuple[Caller, Credential]


class Authenticator:
    """Authenticates callers by key, password or client certificate, with a cache of recent successes."""

    def __init__(
        self,
        directory: Callable[[], Directory],
        passwords: Passwords,
        clock: Clock,
        registrations_per_day: int = 0,
        metrics: Metrics | None = None,
    ) -> None:
        self._directory = directory
        self._passwords = passwords
        self._clock = clock
        self._remembered: OrderedDict[MemoryKey, RememberedCaller] = OrderedDict()
        self._throttle = Throttle(clock)
        metrics = metrics or Metrics()
        self._failures = metrics.counters("authentication_failures_total")
        self._slots = KeyedSemaphore()
        self.registering = RegistrationLimit(clock, self._throttle, self._slots, metrics, registrations_per_day)

    def find_remembered(self, proof: Proof, peer: str) -> Caller | None:
        """Return the caller if the same proof succeeded recently and its credential has not changed.

        A cached password counts only for the address it came from, and only while no attempt has failed there since.
        The cache answers at once, so otherwise it would confirm correct guesses to attackers elsewhere, who have to
        wait.
        """
        key = _memory_key(proof, peer)
        known = self._remembered.get(key)
        if known is None or known.until < self._clock.monotonic():
            return None
        if key is not proof and self._throttle.has_failed_there(normalize_peer(peer), known.account):
            return None
        directory = self._directory()
        if known.directory_version == directory.version:
            return known.caller
        if directory.credentials.get(known.credential.id) != known.credential:
            return None
        caller = self._caller(known.credential, known.caller.level, proof)
        if caller is not None:
            self._remembered[key] = known._replace(caller=caller, directory_version=directory.version)
        return caller

    async def authenticate(self, proof: Proof, peer: str) -> Caller:
        """Return the caller of the proof; raises Refused. ``peer`` is the address that is slowed down after failures."""
        caller = self.find_remembered(proof, peer)
        if caller is not None:
            return caller
        if not proof.authorization and proof.certificate_der is None:
            raise Refused("authentication.required", REQUIRED)  # no credentials, so not a failed attempt
        peer, account = normalize_peer(peer), self._account(proof)
        if (wait_s := self._wait_s(peer, account)) > 0:
            await asyncio.sleep(wait_s)
        if not _takes_long(proof):
            return await self._authenticate(proof, peer, account)
        async with self._slots.slot(peer):  # limits parallel guesses, and leaves capacity for other logins
            caller = self.find_remembered(proof, peer)
            if caller is None:
                self._wait_s(peer, account)  # its own other guesses may have failed meanwhile
                caller = await self._authenticate(proof, peer, account)
            return caller

    async def by_password(self, email: str, password: str, peer: str, *, secure: bool) -> Caller:
        """Return the person with this e-mail and password; raises Refused. Keys and service passwords do not count."""
        pair = base64.b64encode(f"{email}:{password}".encode())
        try:
            caller = await self.authenticate(Proof(b"Basic " + pair, None, secure), peer)
        except Refused as refusal:
            raise _of_login(refusal) from None
        is_theirs = caller.person is not None and caller.person.email.casefold() == email.casefold()
        if not is_theirs or caller.level is not AuthenticationLevel.PASSWORD:
            raise Refused("authentication.required", LOGIN_FAILED)
        return caller

    async def _authenticate(self, proof: Proof, peer: str, account: str) -> Caller:
        version = self._directory().version
        found = await self._check(proof)
        if found is None:
            self._throttle.record_failure(peer, account)
            self._failures.of(_kind(proof)).value += 1
            raise Refused("authentication.required", NOT_KNOWN)
        self._throttle.record_success(peer, account)
        self._remember(_memory_key(proof, peer), *found, version, account)
        return found[0]

    def _wait_s(self, peer: str, account: str) -> float:
        """Return how long the attempt must wait; raises Refused if that is too long."""
        try:
            wait_s = self._throttle.wait_s(peer, account)
        except Refused:
            self._failures.of("throttled").value += 1
            raise
        if wait_s > 0:
            self._failures.of("throttled").value += 1
        return wait_s

    def _account(self, proof: Proof) -> str:
        """Return the account that the proof claims to be for, or '' if it cannot be guessed at."""
        scheme, _, value = proof.authorization.partition(b" ")
        if scheme.lower() == b"bearer":
            return api_key.key_id(value.strip().decode("ascii", "replace")) or ""
        pair = _name_and_password(value) if scheme.lower() == b"basic" else None
        if pair is None:
            return ""
        service, person = self._directory().service(pair[0]), self._directory().person(pair[0])
        return service.gcid if service else person.email if person else pair[0].casefold()[:MAX_NAME]

    def _remember(self, key: MemoryKey, caller: Caller, credential: Credential, version: int, account: str) -> None:
        left_s = REMEMBERED_S
        if credential.expires_at_us:
            left_s = min(left_s, (credential.expires_at_us - self._clock.now_us()) / 1_000_000)
        self._remembered[key] = RememberedCaller(caller, credential, version, self._clock.monotonic() + left_s, account)
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)

    async def _check(self, proof: Proof) -> CheckedCaller | None:
        scheme, _, value = proof.authorization.partition(b" ")
        match scheme.lower():
            case b"bearer":
                return self._by_key(value.strip().decode("ascii", "replace"), proof)
            case b"basic":
                return await self._by_password(value, proof)
        if proof.certificate_der is not None:
            return self._by_certificate(proof.certificate_der, proof)
        return None

    def _by_key(self, text: str, proof: Proof) -> CheckedCaller | None:
        key_id = api_key.key_id(text)
        credential = self._directory().credentials.get(key_id) if key_id else None
        if (
            credential is None
            or credential.kind is not CredentialKind.KEY
            or not api_key.holds(text, credential.secret)
        ):
            return None
        return self._checked(credential, AuthenticationLevel.KEY, proof)

    def _by_certificate(self, der: bytes, proof: Proof) -> CheckedCaller | None:
        fingerprint = sha256(der).hexdigest()
        directory = self._directory()
        for credential in directory.credentials_of_secret(fingerprint):
            if credential.kind is CredentialKind.CERTIFICATE:
                return self._checked(credential, AuthenticationLevel.CERTIFICATE, proof)
        return None

    async def _by_password(self, value: bytes, proof: Proof) -> CheckedCaller | None:
        """Name (GCID, address or e-mail) and password; a key is accepted as password too, for clients that know only Basic."""
        pair = _name_and_password(value)
        if pair is None:
            return None
        name, password = pair
        if api_key.key_id(password) is not None:
            return self._by_key(password, proof)
        directory = self._directory()
        service, person = directory.service(name), directory.person(name)
        owned = directory.credentials_of(service=service.gcid if service else "", person=person.email if person else "")
        candidates: list[Credential | None] = [item for item in owned if item.kind is CredentialKind.PASSWORD]
        # As many checks for everyone, or the time would tell who is there, by how many it has.
        candidates += [None] * (MAX_PASSWORDS - len(candidates))
        for credential in candidates:
            matches = await self._passwords.verify(password, credential.secret if credential else None)
            if matches and credential is not None:
                return self._checked(credential, AuthenticationLevel.PASSWORD, proof)
        return None

    def _checked(self, credential: Credential, level: AuthenticationLevel, proof: Proof) -> CheckedCaller | None:
        caller = self._caller(credential, level, proof)
        return (caller, credential) if caller is not None else None

    def _caller(self, credential: Credential, level: AuthenticationLevel, proof: Proof) -> Caller | None:
        """Return the caller of the credential, unless it is not valid now or its service does not allow this kind."""
        if credential.person and credential.label in (LINK, RESET):
            return None  # they make a login in the console, or set a password, and are good for nothing else
        if credential.person and credential.label == BROWSER and not proof.in_console:
            return None  # the idle timeout and the form proofs of the console guard it, and the API has neither
        if credential.unconfirmed:
            return None  # an operator made it for an organization that has an owner
        now_us = self._clock.now_us()
        if credential.starts_at_us > now_us or 0 < credential.expires_at_us <= now_us:
            return None
        directory = self._directory()
        if credential.service:
            service = directory.services.get(credential.service)
            if service is None or credential.kind not in service.authentication:
                return None
            return Caller(service=service, level=level, secure=proof.secure)
        person = directory.person(credential.person)
        if person is None or person.unconfirmed:
            return None
        return Caller(person=person, level=level, secure=proof.secure, invited=credential.label == INVITATION)


def _of_login(refusal: Refused) -> Refused:
    """Return the refusal in the words for a login form, without advice about keys and headers."""
    is_wrong = refusal.code == "authentication.required"
    return Refused("authentication.required", LOGIN_FAILED) if is_wrong else refusal


def _kind(proof: Proof) -> str:
    """Return the kind of credential that the proof claims to be, as the metrics label it."""
    scheme = proof.authorization.partition(b" ")[0].lower()
    if not scheme and proof.certificate_der is not None:
        return "certificate"
    return "password" if scheme == b"basic" else "key"


def _takes_long(proof: Proof) -> bool:
    """Whether checking the proof takes a slow hash."""
    return proof.authorization[:6].lower() == b"basic "


def _memory_key(proof: Proof, peer: str) -> MemoryKey:
    return (proof, normalize_peer(peer)) if _takes_long(proof) else proof


def _name_and_password(value: bytes) -> tuple[str, str] | None:
    try:
        name, _, password = base64.b64decode(value, validate=True).decode("utf-8").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return name, password
