"""``Standard`` at the path that plug-ins for version 0.2 import."""

from __future__ import annotations

from postroad.core.interchange.standard import Standard, StandardCatalogue

__all__ = ["Standard", "StandardCatalogue"]
