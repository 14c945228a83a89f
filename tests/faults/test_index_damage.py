"""A damaged index: found, rebuilt from the journal, and never the reason for a lost message or a wrong answer."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from tests.faults.index_damage import MOMENTS, Damage, make_template, one_round


async def test_damage_of_any_size_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    """Three rounds; ``make soak`` sets more by POSTROAD_TEST_INDEX_DAMAGES."""
    template = await make_template(tmp_path, 1_200)
    chance = Random(15)
    for number in range(int(os.environ.get("POSTROAD_TEST_INDEX_DAMAGES", "3"))):
        damage = Damage(MOMENTS[number % 3], chance.random(), chance.randbytes((4096, 1000, 1)[number % 3]))
        await one_round(template, tmp_path / f"round{number}", damage)
