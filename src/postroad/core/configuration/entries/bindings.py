"""Bindings as people write them, and their conversion to and from ``Binding``.

Rule: only the form is checked here; the engine checks whether a query compiles, and administration who may bind. A
written binding is read back as the same binding.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, StrictBool, StrictStr, StringConstraints, model_validator

from postroad.core.configuration.shapes import LINE, Line, Prose, StrictShape, Word
from postroad.core.model.directory import Service
from postroad.core.model.exchange import Binding

MAX_PROGRAM_CHARS = 64 << 10  # bytes of a query or script
MAX_NAME_CHARS = 50  # characters of the queue's name in a name that no one chose
DIGEST_BYTES = 6  # so that ten thousand bindings of a queue have different names
MAX_TOPIC_CHARS = 4_096  # as long as the topic of a message may be


RESERVED = "try"  # where messages are tried, in addresses


def check_text(text: str) -> str:
    if len(text.encode(errors="replace")) > MAX_PROGRAM_CHARS:
        raise ValueError(
            f"has more than {MAX_PROGRAM_CHARS >> 10} KiB; install it at the exchange, and bind it by name"
        )
    return text


Program = Annotated[StrictStr, Field(max_length=MAX_PROGRAM_CHARS), AfterValidator(check_text)]

Topic = Annotated[StrictStr, StringConstraints(max_length=MAX_TOPIC_CHARS, pattern=LINE)]


class BindingEntry(StrictShape):
    """What a queue wants of an exchange; its name is the key under which it stands."""

    queue: Annotated[Word, Field(description="The service that receives matching messages, by address or GCID")]
    query: Annotated[Program, Field(description="XQuery that selects messages")] = ""
    script: Annotated[Program, Field(description="Script that selects messages")] = ""
    routing: Annotated[Line, Field(description="A query or script installed at the exchange, or in the network")] = ""
    routing_key: Annotated[Topic, Field(description="Topic of the selected messages; default: any")] = ""
    description: Prose = ""
    enabled: StrictBool = True

    @model_validator(mode="after")
    def check_single_decider(self) -> Self:
        if sum(bool(what) for what in (self.query, self.script, self.routing)) > 1:
            raise ValueError("use at most one of query, script and routing")
        return self


def binding_of(entry: BindingEntry, exchange: str, name: str, queue: str) -> Binding:
    """The directory's object; exchange and queue are GCIDs."""
    fields = entry.model_dump(include=set(BindingEntry.model_fields) - {"queue"})
    return Binding(exchange=exchange, name=name, queue=queue, **fields)


def binding_entry(binding: Binding, queue: str) -> dict[str, Any]:
    """The binding as it is written, without what is as usual; ``queue`` is how its reader knows the queue."""
    fields = {
        "queue": queue,
        "query": binding.query,
        "script": binding.script,
        "routing": binding.routing,
        "routingKey": binding.routing_key,
        "description": binding.description,
    }
    given = {name: value for name, value in fields.items() if value}
    return given if binding.enabled else given | {"enabled": False}


def default_binding_name(binding: Binding, queue: Service) -> str:
    """Return a deterministic name for a binding that was given none."""
    said = "\0".join((binding.queue, binding.query, binding.script, binding.routing, binding.routing_key))
    digest = blake2b(said.encode(errors="replace"), digest_size=DIGEST_BYTES).hexdigest()
    return f"{queue.name[:MAX_NAME_CHARS].rstrip()}-{digest}"
