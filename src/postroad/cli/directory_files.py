"""The directory that a job works under: from configuration files, or from the journal of a network on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postroad.cli.references import read_documents
from postroad.errors import Misconfigured

if TYPE_CHECKING:
    from postroad.core.model.snapshot import Directory


def document_in(files: tuple[str, ...]) -> dict[str, Any]:
    """The files as one document, without anybody's credentials."""
    from postroad.warehouse.bulk.configuration import without_credentials

    return read_documents(files, sys.stdin.read, os.environ, prepare=without_credentials)


def directory_in_files(files: tuple[str, ...]) -> Directory:
    from postroad.warehouse.bulk.configuration import changed_directory

    return changed_directory(document_in(files))


def directory_in_journal(data: Path) -> Directory:
    from postroad.warehouse.bulk.configuration import directories_in

    return directories_in(str(journal_in(data))).latest()


def journal_in(data: Path) -> Path:
    """The journal of a data folder; the folder may be the journal's own."""
    from postroad.warehouse.bulk.archive import journal_folder

    found = journal_folder(str(data))
    if found is None:
        raise Misconfigured([f"there is no journal in {data}; --data names another folder"])
    return found
