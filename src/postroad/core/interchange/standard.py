"""The catalogue of standards and what each can do; and the interface for plug-ins.

A plug-in is a ``Standard`` that a package names in its entry points, in the group ``postroad.interchanges``, under
the standard's own name. Rules: built-in standards cannot be replaced; every standard has the same interface.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import InitVar, dataclass
from typing import Protocol

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange import acknowledgements, edifact, flat, hl7, json_lines, swift, x12
from postroad.core.interchange.acknowledgements import ReportedStatus
from postroad.core.interchange.agreement import OPTION_NAMES
from postroad.core.interchange.model import (
    Assemble,
    AssembleDescribed,
    DescribedDocument,
    Envelope,
    Member,
    Numbers,
    OnEnvelopeError,
    PlacedCallback,
    Split,
)
from postroad.core.interchange.positions import by_place
from postroad.core.interchange.xml_wrapper import gs1, iso20022, own_root
from postroad.core.model.batch_policy import BatchPolicy, Port
from postroad.core.model.batcher import BatcherPlugIn, ChosenBatcher
from postroad.core.model.directory import Service
from postroad.errors import Refused

PLUG_INS = "postroad.interchanges"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

SplitFunction = Callable[[Buffer, OnEnvelopeError, Mapping[str, str]], Iterator[Split]]
MakeAnswerEnvelope = Callable[[Split, int, Mapping[str, str] | None], Envelope]


class Acknowledge(Protocol):
    def __call__(
        self, found: Split, envelope: Envelope, numbers: Numbers, *, taken: bool = True, rejected: Collection[int] = ()
    ) -> Iterator[bytes]:
        """Writes the acknowledgment of an interchange that was accepted, except rejected members, or refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standard:
    """One standard; an ability that it lacks is None."""

    name: str  # x12, edifact …
    title: str  # for people
    split: SplitFunction | None = None  # yields the interchanges in the bytes; options: agreed on with the partner
    assemble: Assemble | None = None
    acknowledge: Acknowledge | None = None
    answering: MakeAnswerEnvelope | None = None  # the envelope of the acknowledgment, by time and options
    examine: Callable[[Buffer], Iterator[Split]] | None = (
        None  # splits without checking; for acknowledgments that list every error
    )
    judged: Callable[[Split, OnEnvelopeError], Split] | None = None  # what was examined: as it is, repaired, or refused
    answers: Callable[[Split], tuple[ReportedStatus, ...]] | None = (
        None  # what an interchange from a partner says of ours
    )
    is_answer: Callable[[Member], bool] | None = None  # whether a member says that, and nothing else
    answers_by_document: bool = False  # they name documents alone, and neither their interchange nor their group
    content_type: str = "application/octet-stream"
    options: frozenset[str] | None = None  # the options that an envelope may have; None: any
    assemble_described: AssembleDescribed | None = None  # like assemble; reads what documents declare of themselves
    facts: InitVar[frozenset[str] | None] = None  # the options, in plug-ins written for version 0.2

    def __post_init__(self, facts: frozenset[str] | None) -> None:
        if facts is not None:
            object.__setattr__(self, "options", facts)

    @property
    def abilities(self) -> tuple[str, ...]:
        able = {
            "split": self.split,
            "assemble": self.assemble,
            "acknowledge": self.acknowledge,
            "match": self.answers,
        }
        return tuple(name for name, what in able.items() if what)

    def assemble_members(
        self,
        members: Iterable[DescribedDocument],
        envelope: Envelope,
        numbers: Numbers,
        placed: PlacedCallback | None = None,
    ) -> Iterator[bytes]:
        """The pieces of an interchange of these documents; refuses where the standard cannot be assembled."""
        if self.assemble_described is not None and self.assemble in (None, self.assemble_described):
            return self.assemble_described(members, envelope, numbers, placed)
        if self.assemble is None:
            detail = f"interchanges of {self.title} cannot be assembled; choose another standard"
            raise Refused("interchange.unfit", detail)
        data = [one.data for one in members] if isinstance(members, list) else (one.data for one in members)
        return self.assemble(data, envelope, numbers, placed)


class StandardCatalogue:
    """Standards by name."""

    def __init__(self, standards: Iterable[Standard], batchers: Iterable[BatcherPlugIn] = ()) -> None:
        self._standards: dict[str, Standard] = {}
        self._batchers = {one.name: one for one in batchers}
        for one in standards:
            self._add(one)

    def __iter__(self) -> Iterator[Standard]:
        return iter(self._standards.values())

    def standard(self, name: str) -> Standard:
        found = self._standards.get(name)
        if found is None:
            known = ", ".join(sorted(self._standards))
            raise Refused(
                "interchange.unfit", f"standard {name!r} does not exist; use one of {known}, or install a plug-in"
            )
        return found

    def with_plug_ins(self, standards: Iterable[Standard]) -> StandardCatalogue:
        """Adds standards; refuses a name that is taken or invalid."""
        return StandardCatalogue((*self, *standards), self._batchers.values())

    def with_batchers(self, batchers: Iterable[BatcherPlugIn]) -> StandardCatalogue:
        """Adds batcher plug-ins; refuses a name that is taken or invalid."""
        every = dict(self._batchers)
        for one in batchers:
            if not _NAME.fullmatch(one.name) or one.name in every:
                detail = f"{one.name!r} is in use, or is not a valid batcher name: use lower-case letters, digits and _"
                raise Refused("interchange.unfit", detail)
            every[one.name] = one
        return StandardCatalogue(self, every.values())

    def batcher(self, name: str) -> BatcherPlugIn | None:
        return self._batchers.get(name)

    def port_of(self, service: Service, policy: BatchPolicy | None = None) -> Port:
        """What a policy has to know of its service, with the batcher plug-in that it names."""
        policy = policy or (service.batching.policy if service.batching is not None else BatchPolicy())
        chosen = None
        if policy.batcher:
            plug_in = self._batchers.get(policy.batcher)
            chosen = ChosenBatcher(name=policy.batcher, plug_in=plug_in, settings=policy.batcher_settings)
        return Port(time_zone=service.time_zone, windows=service.windows, batcher=chosen)

    def _add(self, one: Standard) -> None:
        if not _NAME.fullmatch(one.name):
            raise Refused(
                "interchange.unfit", f"{one.name!r} is not the name of a standard: use lower-case letters, digits and _"
            )
        if one.name in self._standards:
            raise Refused("interchange.unfit", f"standard {one.name!r} already exists; rename the plug-in's standard")
        if not one.abilities:
            raise Refused("interchange.unfit", f"the standard {one.name!r} has no capabilities")
        self._standards[one.name] = one


def _by_stream(split_stream: Callable[[Buffer, OnEnvelopeError], Iterator[Split]]) -> SplitFunction:
    return lambda data, on_error, _options: split_stream(data, on_error)


def _by_file(split: Callable[[Buffer, OnEnvelopeError], Split]) -> SplitFunction:
    """Of these a file holds one interchange."""

    def take(data: Buffer, on_error: OnEnvelopeError, _options: Mapping[str, str]) -> Iterator[Split]:
        yield split(data, on_error)

    return take


def _take_flat(data: Buffer, on_error: OnEnvelopeError, options: Mapping[str, str]) -> Iterator[Split]:
    yield flat.split(data, on_error, options)


def _examine_hl7(data: Buffer) -> Iterator[Split]:
    yield hl7.examine(data)


BUILT_IN = StandardCatalogue(
    (
        Standard(
            name="x12",
            title="ANSI X12",
            split=_by_stream(x12.split_stream),
            assemble=x12.assemble,
            assemble_described=x12.assemble,
            acknowledge=x12.acknowledge,
            answering=x12.answering,
            examine=x12.examine_stream,
            judged=x12.judge_split,
            answers=acknowledgements.read_x12_statuses,
            is_answer=acknowledgements.is_x12_answer,
            content_type="application/edi-x12",
            options=OPTION_NAMES["x12"],
        ),
        Standard(
            name="edifact",
            title="UN/EDIFACT",
            split=_by_stream(edifact.split_stream),
            assemble=edifact.assemble,
            assemble_described=edifact.assemble,
            acknowledge=edifact.acknowledge,
            answering=edifact.answering,
            examine=edifact.examine_stream,
            judged=edifact.judge_split,
            answers=acknowledgements.read_edifact_statuses,
            is_answer=acknowledgements.is_edifact_answer,
            content_type="application/edifact",
            options=OPTION_NAMES["edifact"],
        ),
        Standard(
            name="hl7",
            title="HL7 version 2, alone, in batches and files",
            split=_by_stream(hl7.split_stream),
            assemble=hl7.assemble,
            acknowledge=hl7.acknowledge,
            answering=hl7.answering,
            examine=_examine_hl7,
            judged=hl7.judge_split,
            answers=acknowledgements.read_hl7_statuses,
            is_answer=acknowledgements.is_hl7_answer,
            answers_by_document=True,
            content_type="application/hl7-v2+er7",
            options=OPTION_NAMES["hl7"],
        ),
        Standard(
            name="swift",
            title="SWIFT FIN, as RJE or DOS-PCC",
            split=_by_file(swift.split),
            assemble=swift.assemble,
            answers=acknowledgements.read_swift_statuses,
            is_answer=acknowledgements.is_swift_answer,
            answers_by_document=True,
            content_type="text/plain",
            options=OPTION_NAMES["swift"],
        ),
        Standard(
            name="iso20022",
            title="ISO 20022 business file or envelope",
            split=_by_file(iso20022.split),
            assemble=by_place(iso20022.assemble),
            content_type="application/xml",
            options=OPTION_NAMES["iso20022"],
        ),
        Standard(
            name="gs1",
            title="GS1 XML after a Standard Business Document Header",
            split=_by_file(gs1.split),
            assemble=by_place(gs1.assemble),
            content_type="application/xml",
            options=OPTION_NAMES["gs1"],
        ),
        Standard(
            name="xml",
            title="XML documents in a custom root",
            split=_by_file(own_root.split),
            assemble=by_place(own_root.assemble),
            content_type="application/xml",
            options=OPTION_NAMES["xml"],
        ),
        Standard(
            name="flat",
            title="Flat files, delimited or positional",
            split=_take_flat,
            assemble=by_place(flat.assemble),
            content_type="text/plain",
            options=OPTION_NAMES["flat"],
        ),
        Standard(
            name="json_lines",
            title="JSON lines",
            split=_by_file(json_lines.split),
            assemble=by_place(json_lines.assemble),
            content_type="application/x-ndjson",
            options=OPTION_NAMES["json_lines"],
        ),
    )
)
