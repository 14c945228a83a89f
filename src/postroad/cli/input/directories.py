"""The directory for a job: from configuration files, or from the journal of a network on this machine."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from postroad.cli.framework.settings import gather_settings
from postroad.cli.framework.stores import is_shared
from postroad.cli.input.configuration import read_configuration_files
from postroad.errors import Misconfigured

if TYPE_CHECKING:
    from postroad.core.model.snapshot import Directory


def read_document(files: tuple[str, ...]) -> dict[str, Any]:
    """Read the files as one document, without credentials."""
    from postroad.warehouse.bulk.read.directories import remove_credentials

    return read_configuration_files(files, sys.stdin.read, os.environ, prepare=remove_credentials)


def directory_from_files(files: tuple[str, ...]) -> Directory:
    from postroad.warehouse.bulk.read.directories import apply_document

    return apply_document(read_document(files))


def directory_from_journal(journal: str) -> Directory:
    from postroad.warehouse.bulk.read.directories import read_directories

    return read_directories(journal).find_latest()


def find_journal(data: str) -> str:
    """Find the journal of a data folder or a journal folder; without a name, that of the configured network."""
    from postroad.warehouse.bulk.read.journals import find_journal_source

    if not data:
        settings = gather_settings(None, "", ())
        if is_shared(settings):
            return settings.postgres
        data = str(settings.data)
    found = find_journal_source(data)
    if found is None:
        raise Misconfigured([f"there is no journal in {data}; use --data for another folder"])
    return found
