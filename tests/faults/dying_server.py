"""``postroad serve`` that kills itself (SIGKILL) at a step of the secret store.

The file ``die-at`` in the working folder names the step, such as ``before activate`` or ``after rewrap_data_key``; without the
file, nothing happens. The file is removed before the process dies, so that the next one lives.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from postroad.adapters.secret_store.statements import SqlSecretStore
from postroad.cli.main import main

STEPS = (
    "stage", "activate", "remove", "discard", "rewrap_data_key", "set_meta", "save_token_key", "remove_token_key",
)  # fmt: skip
CHOICE = Path("die-at")


def install(step: str) -> None:
    work = getattr(SqlSecretStore, step)

    async def work_or_die(*arguments: Any) -> Any:
        _die_at(f"before {step}")
        done = await work(*arguments)
        _die_at(f"after {step}")
        return done

    setattr(SqlSecretStore, step, work_or_die)


def _die_at(moment: str) -> None:
    """Die if the file names this moment: once for ``before activate``, the second time for ``before activate 2``."""
    if not CHOICE.exists():
        return
    chosen, _, count = CHOICE.read_text().partition("#")
    if chosen != moment:
        return
    if int(count or "1") > 1:
        CHOICE.write_text(f"{chosen}#{int(count) - 1}")
        return
    CHOICE.unlink()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    for name in STEPS:
        install(name)
    main()
