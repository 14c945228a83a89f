"""The file for libraries that read secrets from a path: it has the content, and is gone afterwards."""

from __future__ import annotations

from pathlib import Path

from postroad.adapters.transport.tls import open_private_file


def test_the_file_is_gone_after_its_use() -> None:
    with open_private_file(b"secret") as path:
        assert Path(path).read_bytes() == b"secret"
        assert not path.startswith("/tmp")
    assert not Path(path).exists()


def test_it_is_gone_after_an_error_too() -> None:
    found = ""
    try:
        with open_private_file(b"secret") as path:
            found = path
            raise ValueError
    except ValueError:
        assert not Path(found).exists()
