"""Resolves a Kustomize overlay as ``kubectl kustomize`` does, as far as `deploy/kubernetes` uses it.

Generated names keep no hash here. Anything else that a kustomization might contain is an error, so nothing is ignored silently.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

KNOWN = {"apiVersion", "kind", "resources", "patches", "configMapGenerator", "images"}
Resource = dict[str, Any]


def resolve(folder: Path) -> list[Resource]:
    """Return the resources of an overlay."""
    wanted = yaml.safe_load((folder / "kustomization.yaml").read_text())
    if unknown := wanted.keys() - KNOWN:
        raise ValueError(f"{folder.name}: this test does not resolve {sorted(unknown)}")
    found = [resource for name in wanted["resources"] for resource in _read(folder / name)]
    found += [_config_map(folder, one) for one in wanted.get("configMapGenerator", ())]
    for patch in wanted.get("patches", ()):
        for resource in found:
            if _is_target(resource, patch["target"]):
                _apply(resource, yaml.safe_load((folder / patch["path"]).read_text()))
    for image in wanted.get("images", ()):
        _set_image(found, image)
    return found


def _read(path: Path) -> list[Resource]:
    return resolve(path) if path.is_dir() else [one for one in yaml.safe_load_all(path.read_text()) if one]


def _config_map(folder: Path, wanted: dict[str, Any]) -> Resource:
    data = {name: (folder / name).read_text() for name in wanted["files"]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": wanted["name"]}, "data": data}


def _is_target(resource: Resource, target: dict[str, str]) -> bool:
    return (resource["kind"], resource["metadata"]["name"]) == (target["kind"], target["name"])


def _apply(resource: Resource, operations: list[dict[str, Any]]) -> None:
    """Apply JSON Patch operations that append to lists."""
    for operation in operations:
        *path, last = operation["path"].strip("/").split("/")
        if (operation["op"], last) != ("add", "-"):
            raise ValueError(f"this test does not resolve {operation['op']} at {operation['path']}")
        place: Any = resource
        for step in path:
            place = place[step]
        place.append(copy.deepcopy(operation["value"]))


def _set_image(node: Any, image: dict[str, str]) -> None:
    if isinstance(node, dict):
        if node.get("image") == image["name"]:
            node["image"] = f"{image.get('newName', image['name'])}:{image['newTag']}"
        node = list(node.values())
    if isinstance(node, list):
        for below in node:
            _set_image(below, image)
