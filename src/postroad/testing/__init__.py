"""Test kit: a network in memory for the tests of applications and plug-ins, and the contracts that adapters must meet."""

from postroad.testing.compose import make_part
from postroad.testing.scenario import Scenario

__all__ = ["Scenario", "make_part"]
