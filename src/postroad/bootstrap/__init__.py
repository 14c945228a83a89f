"""From settings to a running network; the only place where parts are chosen and wired together."""

from postroad.bootstrap.running import RunningNetwork, open_network
from postroad.bootstrap.settings import Settings, read_settings

__all__ = ["RunningNetwork", "Settings", "open_network", "read_settings"]
