"""A damaged index: found, rebuilt from the journal, and never the reason for a lost message or a wrong answer."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.faults.index_damage import MOMENTS, Damage, make_template, one_round


async def test_damage_of_any_size_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    """Three of many; ``python -m tests.faults.index_damage`` does as many as one likes."""
    template = await make_template(tmp_path, 1_200)
    chance = Random(15)
    for number, (moment, size) in enumerate(zip(MOMENTS, (4096, 1000, 1), strict=True)):
        damage = Damage(moment, chance.random(), chance.randbytes(size))
        await one_round(template, tmp_path / f"round{number}", damage)
