"""Splits a file of FIN messages.

    RJE       messages with $ between them
    DOS-PCC   each message between bytes 1 and 3, filled up to a multiple of 512 bytes
    plain     messages that follow each other with nothing, or line ends, between them

Rules: a member is an unchanged message. An acknowledgment (F21) and the copy that directly follows it are one member.
"""

from __future__ import annotations

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.interchange.envelope_errors import fatal, judge_harmless, no_interchange, too_many
from postroad.core.interchange.model import MAX_MEMBERS, InterchangeFault, Member, OnEnvelopeError, Split
from postroad.core.interchange.swift.blocks import NEXT, Block, block_at, read_headers

STANDARD = "swift"
SECTOR = 512
BEGIN, END = b"\x01", b"\x03"
_BLANKS = b" \t\r\n\x00"
_HARMLESS = ("swift.separator", "swift.padding")


def examine(data: Buffer, most_members: int = MAX_MEMBERS) -> Split:
    """Split a file and report all errors; refuses only bytes without any message."""
    walk = _Walk(whole_bytes(data), most_members)
    walk.run()
    return walk.split()


def split(data: Buffer, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE, most_members: int = MAX_MEMBERS) -> Split:
    return judge_harmless(examine(data, most_members), on_error, _HARMLESS)


class _Walk:
    """One pass over the messages."""

    def __init__(self, data: bytes, most_members: int) -> None:
        self._data, self._view, self._most = data, memoryview(data), most_members
        begin = len(data) - len(data.lstrip(_BLANKS))
        self._pcc = data.startswith(BEGIN, begin)
        if not self._pcc and not data.startswith(NEXT, begin):
            raise no_interchange("no SWIFT message begins here: expected {1: or, in DOS-PCC, byte 1")
        self._at = begin
        self._members: list[Member] = []
        self._faults: list[InterchangeFault] = []
        self._sides: set[tuple[str, str]] = set()
        self._dollars = False

    def run(self) -> None:
        going = True
        while going and self._at < len(self._data):
            going = self._sector() if self._pcc else self._message(len(self._data)) and self._gap()

    def split(self) -> Split:
        sender, receiver = next(iter(self._sides)) if len(self._sides) == 1 else ("", "")
        form = "dos_pcc" if self._pcc else "rje" if self._dollars or len(self._members) < 2 else "plain"
        return Split(
            standard=STANDARD, reference="", sender=sender, receiver=receiver, members=tuple(self._members),
            facts={"form": form}, faults=tuple(self._list_faults(form)),
        )  # fmt: skip

    def _list_faults(self, form: str) -> list[InterchangeFault]:
        """Return the errors; a missing $ between messages is one only if other messages are separated by $."""
        return [one for one in self._faults if form == "rje" or one.code != "swift.separator"]

    # ---- messages ----------------------------------------------------------------------------------------------------

    def _message(self, stop: int) -> bool:
        """Read one member from its first block to its last; returns False if its end is uncertain."""
        begin, at, blocks = self._at, self._at, list[Block]()
        while self._data.startswith(b"{", at) and not self._is_next(at, blocks):
            block = block_at(self._data, at, stop)
            if block is None:
                return self._lost("swift.truncated", f"a block that begins here has no end ({self._shown(at)})", at)
            blocks.append(block)
            at = block.after
        if not blocks or blocks[0].name != b"1":
            return self._lost("swift.structure", f"a message should begin here, with {{1: ({self._shown(at)})", begin)
        self._add(begin, at, blocks)
        self._at = at
        return True

    def _is_next(self, at: int, blocks: list[Block]) -> bool:
        """Return True if this block begins a message: block 1, unless it follows an acknowledgment directly."""
        if not blocks or not self._data.startswith(NEXT, at):
            return False
        firsts = sum(1 for block in blocks if block.name == b"1")
        return firsts > 1 or not self._data.startswith(b"F21", blocks[0].begin) or blocks[-1].name != b"4"

    def _add(self, begin: int, end: int, blocks: list[Block]) -> None:
        if len(self._members) >= self._most:
            raise too_many(begin, self._most)
        headers = read_headers(self._data, blocks)
        facts = headers.facts | {"sender": headers.sender, "receiver": headers.receiver, "service": headers.service}
        self._sides.add((headers.sender, headers.receiver))
        self._members.append(
            Member(data=self._view[begin:end], kind=headers.kind, reference=headers.reference, facts=facts)
        )

    def _shown(self, at: int) -> str:
        return repr(self._data[at : at + 12].decode("latin-1"))

    # ---- what stands between -----------------------------------------------------------------------------------------

    def _gap(self) -> bool:
        """Skip to the next message; returns False at the end, or if no message follows."""
        data, begin = self._data, self._at
        at = data.find(NEXT, begin)
        between = data[begin : len(data) if at < 0 else at]
        if b"$" in between:
            self._dollars = True
        elif at >= 0:
            self._note("swift.separator", "there is no $ between two messages", begin)
        if stray := between.strip(_BLANKS + b"$"):
            shown = repr(stray[:12].decode("latin-1"))
            self._note("swift.stray", f"{len(stray)} bytes here do not belong to a message ({shown})", begin)
        self._at = len(data) if at < 0 else at
        return at >= 0

    def _sector(self) -> bool:
        """Return one message of a DOS-PCC file and its padding."""
        data, begin = self._data, self._at
        if not data.startswith(BEGIN, begin):
            return self._lost("swift.structure", f"byte 1 should begin a message here ({self._shown(begin)})", begin)
        end = data.find(END, begin)
        if end < 0:
            return self._lost("swift.truncated", "byte 3 should end the message that begins here", begin)
        self._at = begin + 1
        if not self._message(end):
            return False
        if self._at != end:
            self._note("swift.stray", f"{end - self._at} bytes follow the message's last block", self._at)
        following = data.find(BEGIN, end)
        after = len(data) if following < 0 else following
        self._check_padding(begin, end, after)
        self._at = after
        return True

    def _check_padding(self, begin: int, end: int, after: int) -> None:
        if stray := self._data[end + 1 : after].strip(_BLANKS):
            self._note("swift.stray", f"{len(stray)} bytes here do not belong to a message", end + 1)
        elif (after - begin) % SECTOR:
            self._note("swift.padding", f"the message is not filled up to a multiple of {SECTOR} bytes", begin)

    def _note(self, code: str, text: str, at: int) -> None:
        self._faults.append(InterchangeFault(code=code, text=text, at=at))

    def _lost(self, code: str, text: str, at: int) -> bool:
        self._faults.append(fatal(code, text, at))
        return False
