"""Documents stored in files while an archive is read, to be read again in any order.

Rule: only the positions of documents are in memory, since an interchange may be larger than memory.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

from postroad.warehouse.bulk.read.archive import open_file_system

MAX_OPEN = 64  # files at a time


class StoredDocument(NamedTuple):
    """The position of a stored document."""

    file: str
    offset: int
    length: int


class DocumentWriter:
    """Writes one task's file of documents, created with the first."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._stream: Any = None
        self._offset = 0

    def put(self, data: bytes) -> StoredDocument:
        if self._stream is None:
            self._stream = create_file(self._file)
        place = StoredDocument(self._file, self._offset, len(data))
        self._stream.write(data)
        self._offset += len(data)
        return place

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()


class DocumentReader:
    """Reads documents stored by any task."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, Any] = OrderedDict()

    def read(self, place: StoredDocument) -> bytes:
        data: bytes = self._opened(place.file).read_at(place.length, place.offset)
        return data

    def _opened(self, name: str) -> Any:
        if name not in self._files:
            if len(self._files) >= MAX_OPEN:
                self._files.popitem(last=False)[1].close()
            system, path = open_file_system(name)
            self._files[name] = system.open_input_file(path)
        self._files.move_to_end(name)
        return self._files[name]

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def create_file(file: str) -> Any:
    """Create a file, and its folder if needed."""
    system, path = open_file_system(file)
    system.create_dir(str(Path(path).parent), recursive=True)
    return system.open_output_stream(path)
