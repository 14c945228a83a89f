"""Situations that no alert announces: each function brings a running network into one, as its runbook expects it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import trustme

from tests.samples.troubled_network import STOP, OperatorNetwork

BROKEN_DISK = """
import errno, pathlib
from postroad.adapters.journal.segments.files import RealFiles
from postroad.cli.main import main

sync = RealFiles.fdatasync

def fdatasync(files, fd):
    if pathlib.Path("disk-is-broken").exists():
        raise OSError(errno.EIO, "Input/output error")
    sync(files, fd)

RealFiles.fdatasync = fdatasync
main()
"""
POST = "postroad post --text order --to Acme/Supply --key-file mybiz.key"


def bring_into_nothing(network: OperatorNetwork) -> None:
    """The situation is in people's minds, not in the network."""


def break_the_disk(network: OperatorNetwork) -> None:
    """The server runs until the disk refuses to sync what a client posts."""
    (network.folder / "broken_disk.py").write_text(BROKEN_DISK)
    network.run(STOP)
    network.run("python broken_disk.py serve >> network.log 2>&1 & server=$!")
    network.run(f"curl -s --retry 60 --retry-delay 1 --retry-connrefused {network.url}/readyz")
    network.run(f"touch disk-is-broken; {POST} || rm disk-is-broken")


def back_up(network: OperatorNetwork) -> None:
    network.run("postroad backup copy --secrets plain")


def damage_the_journal(network: OperatorNetwork) -> None:
    """One byte of the posted order is changed."""
    back_up(network)
    [segment] = (network.data / "journal").glob("*.seg")
    written = segment.read_bytes()
    assert b'"anvil"' in written
    segment.write_bytes(written.replace(b'"anvil"', b'"anvik"'))


def lose_the_disk(network: OperatorNetwork) -> None:
    back_up(network)
    network.run("kill -9 $server; wait $server || true; rm -rf var/postroad")


def use_a_master_key(network: OperatorNetwork) -> None:
    """Start the server again with a master key, and store a secret."""
    network.run(f"{STOP}; postroad secrets new-master-key > master.key; chmod 600 master.key")
    network.run("export POSTROAD_MASTER_KEY_FILE=$PWD/master.key")
    network.serve()
    network.run("echo token | postroad secrets set Acme partner-token")


def flood(network: OperatorNetwork) -> None:
    network.run(f"for i in 1 2 3 4 5; do {POST}; done")


def forget_a_certificate(network: OperatorNetwork) -> None:
    """The server's certificate ended yesterday; the renewed one is in a folder beside it."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(network.folder / "authority.pem")
    yesterday = datetime.now(UTC) - timedelta(days=1)
    for folder, not_after in ((network.folder, yesterday), (network.folder / "renewed", None)):
        folder.mkdir(exist_ok=True)
        leaf = authority.issue_cert("127.0.0.1", not_after=not_after)
        leaf.cert_chain_pems[0].write_to_path(folder / "server.pem")
        leaf.private_key_pem.write_to_path(folder / "server.key")
    network.run(f"{STOP}; export POSTROAD_TLS_CERTIFICATE=$PWD/server.pem POSTROAD_TLS_KEY=$PWD/server.key")
    network.run("postroad serve >> network.log 2>&1 & server=$!")
    network.run("curl -sk --retry 60 --retry-delay 1 --retry-connrefused https://127.0.0.1:$POSTROAD_PORT/readyz")


def post_as_a_stranger(network: OperatorNetwork) -> None:
    network.run(f"{POST} --handle PO-666")


SITUATIONS: Mapping[str, Callable[[OperatorNetwork], None]] = {
    "certificate-forgotten": forget_a_certificate,
    "failed-sync": break_the_disk,
    "leaked-key": post_as_a_stranger,
    "leaked-master-key": use_a_master_key,
    "partner-floods": flood,
    "restore": lose_the_disk,
    "verify-found-an-error": damage_the_journal,
}
