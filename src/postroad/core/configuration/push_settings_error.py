"""Errors in the push settings of a service that can be found before a message is pushed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSettingsError:
    field: str  # below the service, such as push/url
    detail: str
    is_error: bool = False  # no push can ever succeed; else it is a warning

    @property
    def text(self) -> str:
        return f"{self.field}: {self.detail}"
