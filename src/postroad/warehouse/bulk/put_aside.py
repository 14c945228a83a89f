"""Documents put aside while an archive is read, so that they can be read again in any order, each by itself.

Kept rule: nothing is kept in memory but where a document lies: an interchange may be larger than the memory of whoever writes it.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

from postroad.warehouse.bulk.archive import file_system

OPEN_MOST = 64  # files at a time


class Aside(NamedTuple):
    """Where a document lies."""

    file: str
    offset: int
    length: int


class PuttingAside:
    """One task's file of documents, begun with the first."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._stream: Any = None
        self._offset = 0

    def put(self, data: bytes) -> Aside:
        if self._stream is None:
            self._stream = begun(self._file)
        place = Aside(self._file, self._offset, len(data))
        self._stream.write(data)
        self._offset += len(data)
        return place

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()


class ReadingAside:
    """Documents that were put aside, by any task."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, Any] = OrderedDict()

    def read(self, place: Aside) -> bytes:
        data: bytes = self._opened(place.file).read_at(place.length, place.offset)
        return data

    def _opened(self, name: str) -> Any:
        if name not in self._files:
            if len(self._files) >= OPEN_MOST:
                self._files.popitem(last=False)[1].close()
            system, path = file_system(name)
            self._files[name] = system.open_input_file(path)
        self._files.move_to_end(name)
        return self._files[name]

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def begun(file: str) -> Any:
    """A new file, in a folder that is made where it is not there."""
    system, path = file_system(file)
    system.create_dir(str(Path(path).parent), recursive=True)
    return system.open_output_stream(path)
