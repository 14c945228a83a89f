"""What the operator opens, and what stays shut whatever is opened."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from postroad.adapters.transport.addresses import NEVER, describe_special, effective_address
from postroad.adapters.transport.destination import Destination
from postroad.adapters.transport.no_answer import NoAnswer
from postroad.adapters.transport.permission import Permission


def allowed(permission: Permission, url: str, *addresses: str) -> bool:
    try:
        permission.check(Destination.of(url), [ip_address(text) for text in addresses])
    except NoAnswer:
        return False
    return True


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_the_public_internet_is_open_by_https_alone(address: str) -> None:
    assert allowed(Permission(), "https://example.com/", address)
    assert not allowed(Permission(), "http://example.com/", address)


@pytest.mark.req("Z4")
def test_a_name_is_opened_for_itself_and_not_for_its_address() -> None:
    permission = Permission.of(["ERP.internal."])
    assert allowed(permission, "https://erp.internal/", "10.0.0.1", "fd00::1", "127.0.0.1")
    assert allowed(permission, "http://erp.internal/", "10.0.0.1")
    for other in ("https://10.0.0.1/", "https://a.erp.internal/", "https://erp.internal.example/"):
        assert not allowed(permission, other, "10.0.0.1")


@pytest.mark.req("Z4")
def test_a_network_is_opened_for_every_name_that_lies_in_it_altogether() -> None:
    permission = Permission.of(["10.1.0.0/16", "fd12::/16", "192.168.7.7"])
    assert allowed(permission, "https://any.example/", "10.1.2.3", "fd12::1", "192.168.7.7", "8.8.8.8")
    assert allowed(permission, "https://any.example/", "::ffff:10.1.2.3")
    assert allowed(permission, "http://any.example/", "10.1.2.3", "192.168.7.7")
    assert not allowed(permission, "http://any.example/", "10.1.2.3", "8.8.8.8")
    assert not allowed(permission, "https://any.example/", "10.1.2.3", "10.2.0.1")
    assert not allowed(permission, "https://any.example/", "192.168.7.8")


@pytest.mark.req("Z4")
@pytest.mark.parametrize("network", [text for texts in NEVER.values() for text in texts])
def test_some_addresses_are_opened_by_nothing(network: str) -> None:
    permission = Permission.of(["erp.internal", "0.0.0.0/0", "::/0"], ["*"])
    assert not allowed(permission, "https://erp.internal/", network.partition("/")[0])


@pytest.mark.parametrize("address", ["::7f00:1", "fe80::5efe:7f00:1", "2001:4860::200:5efe:7f00:1"])
def test_an_ipv4_address_that_hides_in_ipv6_is_opened_by_nothing(address: str) -> None:
    assert not allowed(Permission.of(["::/0", "0.0.0.0/0"]), "https://example.com/", address)


def test_plain_http_is_opened_by_name_or_altogether() -> None:
    assert allowed(Permission.of((), ["old.example"]), "http://old.example/", "8.8.8.8")
    assert not allowed(Permission.of((), ["old.example"]), "http://other.example/", "8.8.8.8")
    assert allowed(Permission.of((), ["*"]), "http://other.example/", "8.8.8.8")
    assert not allowed(Permission.of((), ["*"]), "http://other.example/", "10.0.0.1")


@pytest.mark.parametrize(
    "text",
    ["10.0.0.1/8", "10.0.0/8", "fd00::/129", "a b", "", "https://erp/", "erp:80", "*", "10.1", "me@erp", "*.erp"],
)
def test_what_is_neither_name_nor_network_is_a_fault(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Permission.of([text])


def test_special_addresses_are_called_what_they_are() -> None:
    told = {
        text: describe_special(effective_address(ip_address(text)))
        for text in ("10.0.0.1", "::ffff:127.0.0.1", "fe80::1", "100.64.0.1", "8.8.8.8")
    }
    assert list(told.values()) == [
        "a private network",
        "this machine",
        "link-local",
        "a provider's internal network",
        None,
    ]
