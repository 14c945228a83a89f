"""A machine-readable reason: a code, and the values in its text."""

from __future__ import annotations

from msgspec import Struct


class Reason(Struct, gc=False, frozen=True, array_like=True):
    """Why something failed or ended: a code of ``core.delivery.reasons``, and the values in its text by name."""

    code: str
    values: tuple[tuple[str, str], ...] = ()

    def value(self, name: str) -> str:
        """Return the value of that name, or an empty string."""
        return next((value for key, value in self.values if key == name), "")
