"""A worker that stays root does not run where it could open files again."""

from __future__ import annotations

import os

import pytest

from postroad.adapters.confined import confinement
from postroad.errors import Misconfigured

STATUS = "Name:\tpython\nCapEff:\t{}\nSeccomp:\t0\n"


@pytest.mark.req("Z3")
@pytest.mark.parametrize(
    ("status", "may"),
    [(STATUS.format("000001ffffffffff"), True), (STATUS.format("00000000a80425fb"), False), ("", True)],
)
def test_the_capability_tells_whether_limits_can_be_raised(status: str, may: bool) -> None:
    assert confinement.may_raise_limits(status) is may


@pytest.mark.req("Z3")
def test_a_worker_that_stays_root_with_that_capability_refuses_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in ("setgroups", "setgid", "setuid"):
        monkeypatch.setattr(os, name, fail)
    monkeypatch.setattr(confinement, "_status", lambda: STATUS.format("000001ffffffffff"))
    with pytest.raises(Misconfigured, match="stays root"):
        confinement._give_up_privileges()
