"""Builds a running network from settings; the only place where adapters are chosen and wired."""

from postroad.bootstrap.running_network import RunningNetwork, open_network
from postroad.bootstrap.settings import Settings, read_settings

__all__ = ["RunningNetwork", "Settings", "open_network", "read_settings"]
