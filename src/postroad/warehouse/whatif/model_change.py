"""The directory with one model's tree replaced by another.

Rule: the tree is read and checked as in `postroad model import`; nodes that it does not name are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Attachment, Model
from postroad.core.hierarchy.model_documents import parse_model
from postroad.core.hierarchy.saved_model import PARTS, first_place, to_saved_attachment, to_saved_node, to_saved_topic
from postroad.core.model.asset import Hosting
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.directory import Service
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured, Refused


def replace_model(directory: Directory, named: str, tree: Any) -> Directory:
    """Return the directory with this tree for the model; raises Misconfigured with the errors of the tree."""
    service = directory.service(named)
    if service is None or service.hosted is not Hosting.MODEL:
        raise Misconfigured([f"{named} is not a model; name a service with `hosted: model`"])
    try:
        model = parse_model(tree)
        ModelIndex.of(model)
    except Refused as refusal:
        raise Misconfigured([f"{named}: {refusal.detail}"]) from None
    objects = [*_parts(model, service, directory)]
    kept = {object_key(item) for item in objects}
    gone = [(kind, key) for kind in PARTS for key in directory.parts_of(service.gcid, kind) if (kind, key) not in kept]
    changes = [*_saved(objects, directory), *[_change(*key, directory, None) for key in gone]]
    return directory.apply_changes(changes, directory.version)


def _parts(model: Model, service: Service, directory: Directory) -> Iterator[Any]:
    place = first_place(directory)
    for number, node in enumerate(model.nodes):
        yield to_saved_node(service.gcid, node, place + number)
    for number, attachment in enumerate(_by_gcid(model.attachments, service, directory)):
        yield to_saved_attachment(service.gcid, attachment, place + number)
    for topic, strategy in model.strategies:
        yield to_saved_topic(service.gcid, topic, strategy)


def _by_gcid(attachments: Iterable[Attachment], model: Service, directory: Directory) -> Iterator[Attachment]:
    for one in attachments:
        attached = directory.service(one.service)
        if attached is None:
            raise Misconfigured([f"{model.address}: there is no service {one.service}; name one that is attached"])
        yield Attachment(id=one.id, service=attached.gcid, side=one.side, node=one.node, topics=one.topics)


def _saved(objects: Iterable[Any], directory: Directory) -> Iterator[ObjectChange]:
    for item in objects:
        yield _change(*object_key(item), directory, msgspec.to_builtins(item))


def _change(kind: str, key: str, directory: Directory, value: dict[str, Any] | None) -> ObjectChange:
    return ObjectChange(kind, key, directory.object_version(kind, key) + 1, value)
