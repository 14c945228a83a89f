"""A file for libraries that read secrets only from a path: in anonymous memory on Linux, else private and removed at once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def open_private_file(content: bytes) -> Iterator[str]:
    """Provide the path of a file with this content, which only this process can read, until the end of the block."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("secret", os.MFD_CLOEXEC)
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{number}"
        return
    with tempfile.NamedTemporaryFile() as file:  # created with mode 0600
        file.write(content)
        file.flush()
        yield file.name
