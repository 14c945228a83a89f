"""Assembles transaction sets into X12 interchanges, as a stream of pieces.

    ISA  GS  ST…SE  ST…SE  GE  GS  ST…SE  GE  IEA

A member is a ready set (ST…SE), or an interchange of such sets (ISA…IEA) that an application wrote, whose sets are
used, with the data of their groups. A set may declare its delimiters and charset (``document_options``). Rules:
members keep their order, so a group ends where a set of another kind, sender, receiver or version follows. A set in
other delimiters is converted to ours only if that is safe, and otherwise gets a separate interchange. Only one member
is in memory at a time, so the stream may be larger than the memory. X12 does not name its charset, so a stream has
one: the envelope's, or the first that a set declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import structs

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.assembly_errors import unfit, unfit_member
from postroad.core.interchange.document_options import (
    codec_of,
    convert_charset,
    find_declared_charset,
    read_by_declaration,
    unwrap_described,
)
from postroad.core.interchange.envelope_errors import without_breaks
from postroad.core.interchange.model import (
    DescribedDocument,
    Envelope,
    Numbers,
    OnEnvelopeError,
    Placed,
    PlacedCallback,
)
from postroad.core.interchange.x12.delimiters import (
    BLANKS,
    REPEATS_SINCE,
    X12Delimiters,
    read_declared_delimiters,
    skip_blanks,
    to_readable,
)
from postroad.core.interchange.x12.envelopes import (
    FUNCTIONAL_GROUPS,
    GroupKey,
    check_number,
    key_of_group,
    marks_of,
    release_of,
    version_of,
    without_repetition,
    write_group_opening,
    write_opening,
    write_segment,
    write_time,
)
from postroad.core.interchange.x12.splitter import judge_split, walk_interchanges
from postroad.core.interchange.x12.transaction_sets import (
    TransactionSet,
    convert_delimiters,
    read_set,
    read_verified_set,
    split_with_trailer,
)
from postroad.errors import Refused

MAX_SETS = 999_999  # of a group: GE01 has six digits
MAX_GROUPS = 99_999  # of an interchange: IEA01 has five


def assemble(
    members: Iterable[Buffer | DescribedDocument],
    envelope: Envelope,
    numbers: Numbers,
    placed: PlacedCallback | None = None,
) -> Iterator[bytes]:
    """The pieces of the stream; ``placed`` is called for every set when its piece is yielded."""
    return _Assembly(envelope, numbers, placed).pieces(members)


def assemble_with(
    first: Iterable[bytes], members: Iterable[Buffer], envelope: Envelope, numbers: Numbers
) -> Iterator[bytes]:
    """Assembles an interchange with its own segments (TA1) before the groups."""
    return _Assembly(envelope, numbers, None, tuple(first)).pieces(members)


class _Assembly:
    """One stream being written. Facts: ``set_numbers`` own, group or drawn; ``counts`` refuse or repair."""

    def __init__(
        self, envelope: Envelope, numbers: Numbers, placed: PlacedCallback | None, first: tuple[bytes, ...] = ()
    ) -> None:
        self._envelope, self._numbers, self._placed, self._first = envelope, numbers, placed, first
        self._asked = marks_of(envelope)
        self._numbering = envelope.options.get("set_numbers", "own")
        self._repairs = envelope.options.get("counts", "refuse") == "repair"
        self._when = write_time(envelope)
        self._marks: X12Delimiters | None = None  # of the open interchange
        self._key: GroupKey | None = None  # of the open group
        self._interchange = self._group = self._groups = self._sets = 0
        self._references: set[str] = set()  # in the open group
        self._keys: dict[tuple[str, str], GroupKey] = {}  # by kind and version of a set
        self._charset = codec_of(charset) if (charset := envelope.options.get("charset", "")) else ""

    def pieces(self, members: Iterable[Buffer | DescribedDocument]) -> Iterator[bytes]:
        for position, member in enumerate(members):
            try:
                found = list(self._sets_of(member))
            except Refused as refused:
                raise unfit_member(position, refused.detail) from None
            for one, key in found:
                yield from self._put(one, key, position)
        if self._marks is None:
            yield from self._open(self._asked)
        yield from self._close()

    # ---- members -----------------------------------------------------------------------------------------------------

    def _sets_of(self, member: Buffer | DescribedDocument) -> Iterator[tuple[TransactionSet, GroupKey]]:
        member, options = unwrap_described(member)
        if member[:2] == b"ST":
            found = self._alone(member, options)
            yield found, self._keys.get((found.kind, found.version)) or self._key_of(found)
            return
        if member[:3] == b"ISA":
            yield from self._sets_in(member)
            return
        raw, at, encoding = to_readable(member)
        at = skip_blanks(raw, at, BLANKS)
        if raw.startswith(b"ISA", at):
            yield from self._sets_in(raw)
        else:
            found = self._alone(raw[at:], {**options, "charset": "utf-8"} if encoding else options)
            yield found, self._key_of(found)

    def _alone(self, data: Buffer, options: Mapping[str, str]) -> TransactionSet:
        """A set without an interchange, in the delimiters that it declares or that are seen in it."""
        if not options:
            return read_set(data, self._asked, known=False)
        found = read_by_declaration(
            options,
            lambda declared: read_set(data, read_declared_delimiters(declared)),
            lambda: read_set(data, self._asked, known=False),
        )
        return self._in_charset(found, options)

    def _in_charset(self, found: TransactionSet, options: Mapping[str, str]) -> TransactionSet:
        """The set in the charset of the stream; the first set that declares one decides which it is."""
        if not ("charset" in options or "earlier_charset" in options) or found.data.isascii():
            return found
        declared = find_declared_charset(found.data, options)
        if not self._charset:
            self._charset = declared
        if declared == self._charset:
            return found
        if found.binaries or not b"".join(found.marks.roles()).isascii():
            raise unfit(f"set {found.reference} is in {declared}, and cannot be written in {self._charset}")
        return read_set(convert_charset(found.read_whole(), declared, self._charset), found.marks)

    def _sets_in(self, interchanges: Buffer) -> Iterator[tuple[TransactionSet, GroupKey]]:
        on_error = OnEnvelopeError.REPAIR if self._repairs else OnEnvelopeError.REFUSE
        for walk in walk_interchanges(interchanges):
            interchange = judge_split(walk.split, on_error) if walk.faults else walk
            options = {"charset": "utf-8"} if walk.encoding else {}
            keys = [key_of_group(group) for group in interchange.groups]
            for place, member in enumerate(interchange.members):
                is_right = not walk.faults and place not in walk.with_binaries
                found = read_verified_set(member, walk.marks) if is_right else read_set(member.data, walk.marks)
                yield self._in_charset(found, options) if options else found, keys[member.group]

    def _key_of(self, found: TransactionSet) -> GroupKey:
        facts, envelope = self._envelope.options, self._envelope
        kind = facts.get("functional_group") or FUNCTIONAL_GROUPS.get(found.kind)
        if kind is None:
            detail = f"the functional group of set {found.kind} is unknown; set functional_group"
            raise unfit(detail)
        key = GroupKey(
            kind=kind,
            sender=facts.get("application_sender", envelope.sender),
            receiver=facts.get("application_receiver", envelope.receiver),
            version=found.version or release_of(envelope),
        )
        self._keys[found.kind, found.version] = key
        return key

    # ---- writing -----------------------------------------------------------------------------------------------------

    def _put(self, found: TransactionSet, key: GroupKey, position: int) -> list[bytes]:
        pieces: list[bytes] = []
        if not found.has_right_trailer and not self._repairs:
            detail = f"SE specifies {found.said}, but the set {found.reference} has {found.segments} segments"
            raise unfit_member(position, detail)
        if self._numbering == "own" and not without_breaks(found.reference):
            raise unfit_member(position, f"a set {found.kind} has no number; set setNumbers to number the sets")
        fitted, marks = self._fitted(found, position)
        over = self._group_is_over(key, found)
        if marks is not self._marks or (over and self._groups >= MAX_GROUPS):
            pieces += [*self._close(), *self._open(marks)]
            over = True
        if over:
            pieces += [*self._close_group(), self._open_group(key, marks)]
        reference = self._reference_of(fitted)
        self._sets += 1
        self._references.add(reference)
        pieces += _written(fitted, reference, marks)
        if self._placed is not None:
            self._placed(self._place(position, key, fitted.kind, reference))
        return pieces

    def _fitted(self, found: TransactionSet, position: int) -> tuple[TransactionSet, X12Delimiters]:
        """The set in the delimiters of the open interchange, or in those that were asked for, or in its own."""
        for marks in (self._marks or self._asked, self._asked, None):
            wanted = marks or self._own(found)
            fitted = convert_delimiters(found, wanted)
            if fitted is not None:
                return fitted, wanted
        detail = f"set {found.reference} repeats elements, which version {version_of(self._envelope)} does not support"
        raise unfit_member(position, detail)

    def _own(self, found: TransactionSet) -> X12Delimiters:
        own = structs.replace(found.marks, line_end=self._asked.line_end)
        return own if version_of(self._envelope) >= REPEATS_SINCE else without_repetition(own)

    def _group_is_over(self, key: GroupKey, found: TransactionSet) -> bool:
        if key != self._key or self._sets >= MAX_SETS:
            return True
        return self._numbering == "own" and without_breaks(found.reference) in self._references

    def _reference_of(self, found: TransactionSet) -> str:
        if self._numbering == "own":
            return without_breaks(found.reference)
        number = self._sets + 1 if self._numbering == "group" else check_number(self._numbers.next("member"))
        return f"{number:04d}"

    def _place(self, position: int, key: GroupKey, kind: str, reference: str) -> Placed:
        date, time = self._when
        return Placed(
            position=position,
            interchange=str(self._interchange),
            group=str(self._group),
            kind=kind,
            reference=reference,
            facts={"date": date, "time": time, "group_kind": key.kind},
        )

    # ---- what stands around ------------------------------------------------------------------------------------------

    def _open(self, marks: X12Delimiters) -> list[bytes]:
        self._interchange = check_number(self._numbers.next("interchange"))
        self._marks, self._groups = marks, 0
        first, self._first = self._first, ()
        return [write_opening(self._envelope, self._interchange, marks), *first]

    def _open_group(self, key: GroupKey, marks: X12Delimiters) -> bytes:
        self._group = check_number(self._numbers.next("group"))
        self._key, self._sets, self._references = key, 0, set()
        self._groups += 1
        return write_group_opening(self._envelope, key, self._group, marks)

    def _close_group(self) -> list[bytes]:
        if self._key is None or self._marks is None:
            return []
        self._key = None
        return [write_segment(self._marks, b"GE", b"%d" % self._sets, b"%d" % self._group)]

    def _close(self) -> list[bytes]:
        if self._marks is None:
            return []
        pieces = self._close_group()
        pieces.append(write_segment(self._marks, b"IEA", b"%d" % self._groups, b"%09d" % self._interchange))
        self._marks = None
        return pieces


def _written(found: TransactionSet, reference: str, marks: X12Delimiters) -> list[bytes]:
    as_it_is = reference == found.reference and found.has_right_trailer and not found.is_wrapped
    pieces = [found.read_whole()] if as_it_is else [*split_with_trailer(found, reference)]
    return [*pieces, marks.line_end] if marks.line_end else pieces
