"""Support requests: opened by members, about a message they may see; answered by operators; read by both and by nobody else.

Kept rule: whoever writes hands the word to the other side; a closed request opens again with the next word of a member.
"""

from __future__ import annotations

from dataclasses import replace

from postroad.core.model import ids
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person
from postroad.core.model.snapshot import Directory
from postroad.core.model.support import SupportNote, SupportRequest, SupportState
from postroad.errors import Refused
from postroad.flow.administration import Administration, not_found
from postroad.flow.administration_accounts import person_of
from postroad.flow.configure import Change, saving

SUBJECT_CHARS = 200
TEXT_CHARS = 10_000
NOTES_MOST = 200


async def open_request(
    administration: Administration, caller: Caller, subject: str, text: str, session: str = ""
) -> SupportRequest:
    """Ask the operators; ``session`` is the message that it is about, if it is about one."""
    person = person_of(caller)
    if not person.organization:
        raise Refused("permission.denied", "You are an operator; requests are opened by members of an organization")
    _check_text(subject, SUBJECT_CHARS, "/subject")
    if session and await administration.network.trace(session, person.organization) is None:
        raise Refused("not-found", "There is no such message, or none that you may see", pointer="/session")
    note = _note(administration, person, text)
    request = SupportRequest(
        id=ids.short(note.at_us, administration.network.randomness.bytes(4)),
        organization=person.organization,
        subject=subject.strip(),
        session=session,
        notes=(note,),
    )

    def decide(directory: Directory) -> list[Change]:
        _check_number(requests_for(caller, directory), administration.open_support_requests)
        return [saving(request)]

    await administration.carry_out(person.email, decide, "support request opened")
    return request


def _check_number(requests: list[SupportRequest], most: int) -> None:
    if most and sum(one.state is not SupportState.CLOSED for one in requests) >= most:
        raise Refused(
            "support.too-many",
            f"Your organization has {most} requests that are not closed; close one that is done, or write to it",
        )


async def write(
    administration: Administration, caller: Caller, request_id: str, text: str, *, close: bool = False
) -> SupportRequest:
    """Add a word, or close the request with a last one, which may be empty."""
    person = person_of(caller)
    note = _note(administration, person, text if text.strip() or not close else "Closed.")

    def decide(directory: Directory) -> list[Change]:
        found = request_for(caller, directory, request_id)
        closes = close and found.state is not SupportState.CLOSED
        if len(found.notes) >= NOTES_MOST and not closes:
            raise Refused("value.invalid", f"A request has at most {NOTES_MOST} notes; open another, and name this one")
        state = SupportState.CLOSED if close else _handed_over(person)
        return [saving(replace(found, state=state, notes=(*found.notes, note)))]

    directory = await administration.carry_out(person.email, decide, "support request written to")
    return request_for(caller, directory, request_id)


def request_for(caller: Caller, directory: Directory, request_id: str) -> SupportRequest:
    """The request, when the caller may read it."""
    found = [one for one in requests_for(caller, directory) if one.id == request_id]
    if not found:
        raise not_found()
    return found[0]


def requests_for(caller: Caller, directory: Directory) -> list[SupportRequest]:
    """What the caller's organization has asked, or for an operator what all have; the newest word first."""
    person = person_of(caller)
    table = directory.support if person.operator else directory.support.of(person.organization.casefold())
    return sorted(table.values(), key=lambda one: (-one.changed_at_us, one.id))


def _note(administration: Administration, person: Person, text: str) -> SupportNote:
    text = text.replace("\r\n", "\n")  # browsers count the end of a line as one character, and send two
    _check_text(text, TEXT_CHARS, "/text")
    now_us = administration.network.clock.now_us()
    return SupportNote(at_us=now_us, by=person.email, text=text.strip(), operator=person.operator)


def _handed_over(person: Person) -> SupportState:
    return SupportState.ANSWERED if person.operator else SupportState.OPEN


def _check_text(text: str, most: int, pointer: str) -> None:
    if not text.strip() or len(text) > most:
        raise Refused("value.invalid", f"Write something here, of at most {most} characters", pointer=pointer)
