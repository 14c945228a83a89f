"""The addresses of services by GCID, loaded once and kept up to date from the journal."""

from __future__ import annotations

from postroad.core.model.journal import ConfigurationChanged
from postroad.flow.registries.configuration import decode_directory_rows
from postroad.ports import IndexReader

SERVICE = "service"


class ServiceNames:
    def __init__(self, index: IndexReader) -> None:
        self._index = index
        self._addresses: dict[str, str] | None = None

    async def load(self) -> None:
        """Load all names, the first time."""
        if self._addresses is None:
            directory = decode_directory_rows(await self._index.query("objects"))
            self._addresses = {gcid: service.address for gcid, service in directory.services.items()}

    def note(self, entry: ConfigurationChanged) -> None:
        """Apply a change; a service that is removed keeps its last name."""
        for change in entry.objects:
            if change.kind == SERVICE and change.value is not None and self._addresses is not None:
                self._addresses[change.key] = f"{change.value['organization']}/{change.value['name']}"

    def address_of(self, gcid: str) -> str:
        return (self._addresses or {}).get(gcid, gcid)
