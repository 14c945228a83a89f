"""The IDs that a line of the server's log is about, as fields: ``log_form = "json"`` shows them beside the text.

Rule: only IDs and codes; no handle, property, key or content.
"""

from __future__ import annotations

from typing import Protocol

from postroad.core.model.directory import Service
from postroad.errors import PostroadError

LogFields = dict[str, object]


class LoggedMessage(Protocol):
    """The IDs of a message, of an entry or of a delivery."""

    @property
    def session(self) -> str: ...

    @property
    def transaction(self) -> str: ...


def describe_service(service: Service, error: BaseException | None = None) -> LogFields:
    """Return the fields of a line about a service, with the code of an error that has one."""
    return {"gcid": service.gcid} | describe_error(error)


def describe_delivery(service: Service, message: LoggedMessage, error: BaseException | None = None) -> LogFields:
    """Return the fields of a line about what a service does with a message."""
    ids = {"session": message.session, "transaction": message.transaction}
    return describe_service(service) | ids | describe_error(error)


def describe_error(error: BaseException | None) -> LogFields:
    return {"code": error.code} if isinstance(error, PostroadError) and hasattr(error, "code") else {}
