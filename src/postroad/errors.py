"""The exceptions that postroad raises on purpose, divided by who can act: the caller, the operator, or no one.

    PostroadError
    ├── Refused          the poster's or caller's fault: answered with a stable code, never retried
    ├── Misconfigured    the operator's fault: stops start-up and lists every fault at once
    └── Unavailable      no one's fault right now (disk full, database away, too busy): try again later

A ``Refused`` carries a code from ``core/model/refusals.py``; one table per dialect (problem+json, SOAP fault, …) turns codes
into answers. Anything that is not a ``PostroadError`` is a programming mistake: it ends the unit of work and is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class PostroadError(Exception):
    """Base class of all postroad errors; never raised itself. It can be pickled between processes.

    Passes whole from process to process, as pools of workers need it.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), self.args, vars(self))


def _made_again(kind: type[PostroadError], arguments: tuple[Any, ...], fields: dict[str, Any]) -> PostroadError:
    error = kind.__new__(kind, *arguments)
    vars(error).update(fields)
    return error


class Refused(PostroadError):
    """The request cannot be granted; ``code`` is stable and ``detail`` tells the caller what to do next."""

    def __init__(self, code: str, detail: str, *, pointer: str = "", session: str = "", retry_after_s: int = 0) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.pointer = pointer  # JSON pointer or XML path of the offending place, where there is one
        self.session = session  # the session the refusal speaks of (the first one, for a duplicate)
        self.retry_after_s = retry_after_s  # when the same may be asked again, where waiting is all it takes


class Misconfigured(PostroadError):
    """Settings or files are invalid; lists every error found, not only the first."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


class Unavailable(PostroadError):
    """The operation cannot be done now; nothing was changed, and it can be retried after ``retry_after_s``."""

    def __init__(self, code: str, detail: str, *, retry_after_s: int = 1) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.retry_after_s = retry_after_s
