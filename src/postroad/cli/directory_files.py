"""The directory that a job works under: from configuration files, or from the journal of a network on this machine."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from postroad.cli.configuring import settings_from
from postroad.cli.references import read_documents
from postroad.cli.stores import shared
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


def directory_in_journal(journal: str) -> Directory:
    from postroad.warehouse.bulk.configuration import directories_in

    return directories_in(journal).latest()


def journal_in(data: str) -> str:
    """The journal of a data folder, which may be the journal's own; where none is given, of the network that settings name."""
    from postroad.warehouse.bulk.journals import journal_named

    if not data:
        settings = settings_from(None, "", ())
        if shared(settings):
            return settings.postgres
        data = str(settings.data)
    found = journal_named(data)
    if found is None:
        raise Misconfigured([f"there is no journal in {data}; --data names another folder"])
    return found
