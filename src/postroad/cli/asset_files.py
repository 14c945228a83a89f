"""Assets that a configuration names by file: read here, where the files are, and sent as content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from postroad.core.configuration.assets import PLURALS

SECTIONS = frozenset(PLURALS.values())


def with_assets(document: dict[str, Any], folder: Path, file: str, faults: list[str]) -> dict[str, Any]:
    """The document with the contents of the files that its services' assets name."""
    reading = _Reading(folder, file, faults)
    resolved: dict[str, Any] = reading.below(
        document, "organizations", lambda house: reading.below(house, "services", reading.service)
    )
    return resolved


class _Reading:
    """Goes down to the assets only, so that a field called file means a file nowhere else."""

    def __init__(self, folder: Path, file: str, faults: list[str]) -> None:
        self._folder = folder
        self._file = file
        self._faults = faults

    def below(self, value: Any, name: str, change: Any) -> Any:
        """The value with each thing in its section of that name changed."""
        if not isinstance(value, dict) or not isinstance(value.get(name), dict):
            return value
        return value | {name: {key: change(item) for key, item in value[name].items()}}

    def service(self, service: Any) -> Any:
        for section in SECTIONS:
            service = self.below(service, section, self._asset)
        return service

    def _asset(self, entry: Any) -> Any:
        if not isinstance(entry, dict) or not isinstance(entry.get("file"), str) or "content" in entry:
            return entry
        path = self._folder / Path(entry["file"]).expanduser()
        try:
            content = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            self._faults.append(f"{self._file}: file: {entry['file']}: {error}")
            content = ""
        return {name: value for name, value in entry.items() if name != "file"} | {"content": content}
