"""Checks a service's push settings before the first message depends on them.

Rules: an error is a setting that can never work on this server: an invalid URL, or an address or a scheme that the
operator does not allow. A missing secret is a warning, since the operator may add it later, or keep it on another
node. No name is resolved here, so that the author of a profile does not learn whether a name exists and where it
leads.
"""

from __future__ import annotations

from collections.abc import Iterator

from postroad.adapters.transport.destination import Destination
from postroad.adapters.transport.no_answer import NoAnswer
from postroad.adapters.transport.permission import Permission, not_allowed
from postroad.core.configuration.push_settings_error import PushSettingsError
from postroad.core.model.directory import DeliveryMode, Push, PushAuthentication, Service
from postroad.errors import Misconfigured
from postroad.ports import Secrets


class PushChecker:
    def __init__(self, permission: Permission, secrets: Secrets) -> None:
        self._permission = permission
        self._secrets = secrets

    def faults(self, service: Service) -> list[PushSettingsError]:
        """Return the errors in the push settings of a service; empty for a service without push."""
        if service.push is None or service.delivery is not DeliveryMode.PUSH:
            return []
        places = [("push", service.push), ("push/backup", service.push.backup)]
        return [fault for where, push in places if push is not None for fault in self._of(service, push, where)]

    def _of(self, service: Service, push: Push, where: str) -> Iterator[PushSettingsError]:
        try:
            destination = Destination.of(push.url)
            if destination.address is not None:
                self._permission.check(destination, [destination.address])
            elif destination.scheme == "http" and not self._permission.may_allow_http(destination):
                raise not_allowed(destination)
        except NoAnswer as error:
            yield PushSettingsError(field=f"{where}/url", detail=str(error), is_error=True)
        if push.secret_from and push.authentication is not PushAuthentication.NONE:
            yield from self._of_secret(service, push, where)

    def _of_secret(self, service: Service, push: Push, where: str) -> Iterator[PushSettingsError]:
        try:
            if push.authentication is PushAuthentication.CERTIFICATE and push.secret_from.startswith("file:"):
                self._secrets.file(service, push.secret_from)
            else:
                self._secrets.check(service, push.secret_from)
        except Misconfigured as error:
            detail = f"{error}. Pushes fail until the secret exists"
            yield PushSettingsError(field=f"{where}/secretFrom", detail=detail)
