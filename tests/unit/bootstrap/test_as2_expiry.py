"""Certificates of AS2 agreements that come to their end are told with all others; while one is rolled over the last counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from postroad.bootstrap.expiry_warnings import list_as2_certificates
from postroad.core.codecs.cms import Identity
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory
from tests.samples.as2_scenario import AGREED, OneKey, certificate_pem, key_pem
from tests.samples.cms_people import clerk, identity, partner

SOON, LATER = datetime(2027, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)


def ends(whose: Identity, until: datetime) -> Identity:
    return identity("Station", whose.key, until=until, serial=until.year)


def told(*partners: Identity, own: str, secret_from: str = "file:as2.pem") -> dict[str, datetime]:
    as2 = replace(AGREED, certificates=tuple(map(certificate_pem, partners)), secret_from=secret_from)
    service = Service(gcid="a" * 16, organization="Aster", name="Acme", as2=as2)
    secrets = OneKey()
    secrets.text = own
    found = list_as2_certificates(Directory(services={service.gcid: service}), secrets)
    return {one.what: datetime.fromtimestamp(one.expires_at_us / 1_000_000, UTC) for one in found}


@pytest.mark.req("T7", "Z1")
def test_both_sides_are_looked_at() -> None:
    assert told(ends(partner(), SOON), own=key_pem(ends(clerk(), LATER))) == {
        "the AS2 certificate of 'ACME' (Aster/Acme)": SOON,
        "the network's AS2 certificate 'My Biz' (Aster/Acme)": LATER,
    }


@pytest.mark.req("T7", "Z1")
def test_where_the_successor_is_there_the_old_one_may_end() -> None:
    pair = key_pem(ends(clerk(), SOON), ends(clerk(), LATER))
    assert set(told(ends(partner(), SOON), ends(partner(), LATER), own=pair).values()) == {LATER}


def test_what_is_missing_or_cannot_be_read_is_told_by_the_messages_that_fail() -> None:
    assert told(own="") == {}
    assert told(own="no certificate in here") == {}
    assert told(own=key_pem(clerk()), secret_from="") == {}
