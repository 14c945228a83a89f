"""The models open on this node, with their nodes and attachments, kept in step with the configuration.

Rules: a model is opened on first use, without delaying others however large it is. From then on, the cost of each
change depends only on what has changed. A model whose change cannot be applied in place is reopened on next use.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.saved_model import PARTS, OpenedModel, apply_changes, open_in_steps
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.registries.configuration import Configuration

Touched = list[tuple[str, str]]  # kind, and the key without the model's GCID

log = logging.getLogger(__name__)


class ModelRegistry:
    """Opens models on first use and applies changes to them in place."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._open: dict[str, OpenedModel] = {}
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._meanwhile: dict[str, Touched] = {}  # what was touched while a model is being opened
        configuration.follow(self._follow)

    async def load(self, gcid: str) -> ModelIndex | None:
        """Return the current model; None if it has no nodes."""
        while gcid not in self._open:
            if gcid not in self._opening:
                self._meanwhile[gcid] = []
                self._opening[gcid] = asyncio.get_running_loop().create_task(self._open_anew(gcid))
            await asyncio.shield(self._opening[gcid])
        return self._open[gcid].model

    def is_current(self, gcid: str, model: ModelIndex | None) -> bool:
        """Whether ``load`` would return this model without loading it."""
        return gcid in self._open and self._open[gcid].model is model

    async def _open_anew(self, gcid: str) -> None:
        try:
            for opened in open_in_steps(self._configuration.directory(), gcid):
                if opened is None:
                    await asyncio.sleep(0)
                else:
                    self._open[gcid] = opened
        finally:
            del self._opening[gcid]
            meanwhile = self._meanwhile.pop(gcid)
        if meanwhile:
            self._keep_up(gcid, meanwhile, self._configuration.directory())

    def _follow(self, directory: Directory, changes: Sequence[ObjectChange]) -> None:
        touched: dict[str, Touched] = {}
        for change in changes:
            if change.kind in PARTS:
                owner, _, name = change.key.partition("/")
                if owner in self._open or owner in self._meanwhile:
                    touched.setdefault(owner, []).append((change.kind, name))
            elif change.kind == "service" and change.value is None:
                self._open.pop(change.key, None)
        for owner, names in touched.items():
            if owner in self._meanwhile:
                self._meanwhile[owner] += names
            elif owner in self._open:
                self._keep_up(owner, names, directory)

    def _keep_up(self, gcid: str, touched: Touched, directory: Directory) -> None:
        model, whole = self._open[gcid]
        if model is None or not whole:
            del self._open[gcid]
            return
        try:
            apply_changes(model, gcid, touched, directory)
        except Refused as refusal:
            log.info(
                "model.reopened: model %s is reopened: %s",
                gcid,
                refusal.code,
                extra={"gcid": gcid, "code": refusal.code},
            )
            del self._open[gcid]
