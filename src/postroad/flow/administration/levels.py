"""The network's level: what it is, which nodes can read which level, and raising it.

Rule: the level is raised only when every node that was seen in the last ten minutes can read the new level. It never falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroad.core.model.caller import Caller
from postroad.core.model.level import LEVEL_KEY, LEVEL_KIND, LEVELS, NEWEST, NetworkLevel
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.accounts import require_person
from postroad.flow.administration.base import Administration, permission_denied
from postroad.flow.registries.configuration import DirectoryChange, build_save
from postroad.ports import NetworkNode, NodeRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelStatus:
    """The level of the network, the newest level of this node's version, and the nodes that were seen lately."""

    level: int
    newest: int
    nodes: Sequence[NetworkNode]

    @property
    def obstacles(self) -> list[str]:
        """Return why the level cannot be raised to the newest one, a sentence for each node in the way."""
        return describe_obstacles(self.nodes, self.newest)


async def read_level(administration: Administration, nodes: NodeRegistry, caller: Caller) -> LevelStatus:
    """Return the level and the nodes; for operators."""
    _require_operator(caller)
    return LevelStatus(level=administration.directory.level, newest=NEWEST, nodes=await nodes.list_nodes())


async def raise_level(
    administration: Administration, nodes: NodeRegistry, caller: Caller, wanted: int | None = None
) -> LevelStatus:
    """Raise the network to a level, by default to the newest that this version reads; for operators."""
    status = await read_level(administration, nodes, caller)
    level = status.newest if wanted is None else wanted
    obstacles = describe_obstacles(status.nodes, level)
    if obstacles:
        raise Refused("network.level-not-readable", ". ".join(obstacles))

    def decide(directory: Directory) -> list[DirectoryChange]:
        _check(level, directory.level)
        if level == directory.level:
            return []
        release = LEVELS[level - 1].release
        seen = directory.object_version(LEVEL_KIND, LEVEL_KEY)
        return [build_save(NetworkLevel(level=level, release=release), seen)]

    await administration.carry_out(require_person(caller).email, decide, f"network level raised to {level}")
    return await read_level(administration, nodes, caller)


def describe_obstacles(nodes: Sequence[NetworkNode], level: int) -> list[str]:
    """Return a sentence for each node that cannot read the level."""
    return [
        f"Node {node.id or '(unregistered)'} on {node.host} runs version {node.version}, which reads up to level {node.level}; "
        f"upgrade or stop it, then raise the level to {level}"
        for node in nodes
        if node.level < level
    ]


def _check(level: int, current: int) -> None:
    if level > NEWEST:
        raise Refused("value.invalid", f"This version knows levels up to {NEWEST}, not {level}", pointer="/level")
    if level < current:
        raise Refused(
            "value.invalid", f"The network is at level {current}, and a level is never lowered", pointer="/level"
        )


def _require_operator(caller: Caller) -> None:
    if not caller.operator:
        raise permission_denied("Only operators can see and raise the network's level")
