"""``by_place`` at the path that plug-ins for version 0.2 import."""

from __future__ import annotations

from postroad.core.interchange.positions import by_place

__all__ = ["by_place"]
