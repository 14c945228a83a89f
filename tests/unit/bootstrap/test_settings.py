"""Settings: where they come from, what wins, and that every fault is told at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroad.bootstrap.settings import Settings, read_settings
from postroad.errors import Misconfigured


def faults(tmp_path: Path, text: str = "", **environment: str) -> tuple[str, ...]:
    file = tmp_path / "postroad.toml"
    file.write_text(text)
    with pytest.raises(Misconfigured) as refused:
        read_settings(file=file, environment=environment)
    return refused.value.faults


def test_wrong_types_unknown_names_and_contradictions_are_listed_together(tmp_path: Path) -> None:
    listed = faults(tmp_path, 'port = "abc"\nindex = "foo"\nacceptance = "x"\nnope = 1\nsecret = 7\n')
    assert "port: must be a whole number, not 'abc'" in listed
    assert 'index: must be "sqlite", "postgres" or "memory"' in listed
    assert 'acceptance: must be "local" or "shared"' in listed
    assert "secret: must be text, not (hidden)" in listed
    assert any("nope" in line for line in listed)
    assert sum(line.startswith("port:") for line in listed) == 1


@pytest.mark.req("O3")
def test_nothing_need_be_set() -> None:
    assert read_settings(environment={}) == Settings()
    assert (Settings().acceptance, Settings().index) == ("local", "sqlite")


def test_the_command_line_wins_over_variables_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "postroad.toml"
    file.write_text('port = 1\nhost = "one"\nlog_level = "error"\n')
    environment = {"POSTROAD_PORT": "2", "POSTROAD_HOST": "two", "HOME": "/nowhere"}
    settings = read_settings(file=file, environment=environment, overrides={"port": 3, "host": None})
    assert (settings.port, settings.host, settings.log_level) == (3, "two", "error")


def test_values_may_come_from_files_named_in_variables(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("ab" * 32 + "\n")
    assert read_settings(environment={"POSTROAD_SECRET_FILE": str(secret)}).secret == "ab" * 32


def test_a_list_in_a_variable_is_divided_by_commas() -> None:
    settings = read_settings(environment={"POSTROAD_TRUSTED_PROXIES": "10.0.0.1, 10.0.0.2"})
    assert settings.trusted_proxies == ("10.0.0.1", "10.0.0.2")


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    told = faults(tmp_path, "prot = 1\n", POSTROAD_PORT="many", POSTROAD_COLOUR="red")
    assert len(told) == 3
    assert any("prot" in fault for fault in told)
    assert any("POSTROAD_COLOUR" in fault for fault in told)
    assert any(fault.startswith("port:") for fault in told)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('acceptance = "somewhere"', "acceptance"),
        ('acceptance = "shared"', "postgres"),
        ('acceptance = "shared"', "secret"),
        ('index = "postgres"', "postgres"),
        ('secret = "short"', "secret"),
        ('tls_certificate = "a.pem"', "tls_certificate and tls_key"),
        ("port = 70000", "port"),
        ("bulk_bytes = 1", "bulk_bytes"),
        ("segment_bytes = 1", "segment_bytes"),
        ('log_level = "loud"', "log_level"),
        ("attempts_most = 0", "attempts_most"),
        ("not toml at all", "cannot be read"),
    ],
)
def test_contradictions_are_found(tmp_path: Path, text: str, fault: str) -> None:
    assert any(fault in told for told in faults(tmp_path, text))


def test_secrets_are_masked_when_shown() -> None:
    shown = Settings(secret="ab" * 32, postgres="postgresql://user:password@host/db").mask_secrets()
    assert (shown["secret"], shown["postgres"], shown["port"]) == ("***", "***", 8470)


@pytest.mark.req("Z4")
def test_what_pushes_may_reach_is_names_and_networks(tmp_path: Path) -> None:
    environment = {"POSTROAD_PUSH_ALLOW_PRIVATE": "erp.internal, 10.1.0.0/16", "POSTROAD_PUSH_ALLOW_HTTP": "*"}
    settings = read_settings(environment=environment)
    assert (settings.push_allow_private, settings.push_allow_http) == (("erp.internal", "10.1.0.0/16"), ("*",))
    told = faults(
        tmp_path,
        POSTROAD_PUSH_ALLOW_PRIVATE="10.1.0.1/16",
        POSTROAD_PUSH_ALLOW_HTTP="http://x",
        POSTROAD_PUSH_TIMEOUT_S="0",
    )
    assert [fault.partition(":")[0] for fault in told] == ["push_timeout_s", "push_allow_private", "push_allow_http"]
