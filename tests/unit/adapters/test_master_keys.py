"""Where master keys come from: a file, a real command, or the settings; each failure names its source, never a key."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from postroad.adapters.master_keys import read_master_keys
from postroad.core.identity.sealing import SealingKey, SealingKeys
from postroad.errors import Misconfigured

KEY = bytes(range(32))
CANARY = KEY.hex()[:40]


def printing(program: str) -> str:
    return shlex.join([sys.executable, "-c", program])


def ids(keys: SealingKeys | None) -> tuple[str, ...]:
    assert keys is not None
    return keys.ids


def test_each_source_gives_the_key(tmp_path: Path) -> None:
    file = tmp_path / "master.key"
    file.write_text(KEY.hex() + "\n")
    wanted = (SealingKey(KEY).id,)
    assert ids(read_master_keys(KEY.hex(), "", "")) == wanted
    assert ids(read_master_keys("", str(file), "")) == wanted
    assert ids(read_master_keys("", "", printing(f"print('{KEY.hex()}')"))) == wanted
    assert read_master_keys("", "", "") is None


def test_the_file_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"master_key_file .*missing: cannot be read: No such file"):
        read_master_keys("", str(tmp_path / "missing"), "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        (printing("raise SystemExit('vault is sealed')"), "ended with status 1: vault is sealed"),
        (printing(f"print('{CANARY}')"), "line 1 is not a key"),
        (printing(f"print('{CANARY}'); raise SystemExit(3)"), "status 3: no message"),
        (printing("pass"), "contains no key"),
        ("/no/such/program --now", "/no/such/program cannot be run: No such file"),
        ("vault 'open", "quotation"),
    ],
)
def test_a_failing_command_is_named_without_its_output(command: str, fault: str) -> None:
    with pytest.raises(Misconfigured, match=fault) as refused:
        read_master_keys("", "", command)
    assert str(refused.value).startswith("master_key_command")
    assert CANARY not in str(refused.value)


def test_no_shell_is_involved(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured):
        read_master_keys("", "", f"echo $HOME > {tmp_path}/written")
    assert not (tmp_path / "written").exists()
