"""Client certificates that are shown to servers when the network pushes: looked at for every place, before they end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from postroad.bootstrap.expiry_warnings import list_push_certificates
from postroad.core.model.directory import Push, PushAuthentication, Service
from postroad.core.model.snapshot import Directory
from postroad.testing.fixed_secrets import FixedSecrets
from tests.samples.as2_scenario import key_pem
from tests.samples.cms_people import clerk, identity

ENDS = (datetime(2027, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC))


@dataclass
class Folder(FixedSecrets):
    """Secrets that are files of this folder."""

    path: Path

    def secret(self, service: Service, reference: str) -> str:
        return Path(self.file(service, reference)).read_text()

    def file(self, service: Service, reference: str) -> str:
        return str(self.path / reference.removeprefix("file:"))


@pytest.mark.req("B7", "Z1")
def test_the_certificate_for_the_backup_is_looked_at_too(tmp_path: Path) -> None:
    for name, until in zip(("main", "backup"), ENDS, strict=True):
        (tmp_path / name).write_text(key_pem(identity("Client", clerk().key, until=until, serial=until.year)))
    shown = PushAuthentication.CERTIFICATE
    backup = Push(url="https://b.example/", authentication=shown, secret_from="file:backup")
    push = Push(url="https://a.example/", authentication=shown, secret_from="file:main", backup=backup)
    service = Service(gcid="a" * 16, organization="Aster", name="Acme", push=push)

    found = list_push_certificates(Directory(services={service.gcid: service}), Folder(tmp_path))

    assert {one.what: datetime.fromtimestamp(one.expires_at_us / 1_000_000, UTC) for one in found} == {
        "the certificate file:main for pushes to Aster/Acme": ENDS[0],
        "the certificate file:backup for pushes to Aster/Acme": ENDS[1],
    }
