"""Random batch events for property tests.

Rule: the events are consistent, as in ``events``. A delivery joins one batch, a batch has each version once, and a control
number is drawn once. The order of a batch's states is random, because no index and no desk depends on it.
"""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec.structs import replace

from postroad.core.model.batch import Batch, BatchMember, BatchState
from postroad.core.model.interchange import AnsweredMember, AssembledInterchange, DocumentPosition, DrawnNumber
from postroad.core.model.journal import BatchesChanged, Entry, InterchangeAnswered
from postroad.testing.random_journals.state import JournalState
from postroad.testing.random_journals.values import SERVICES, Draw, services, sizes, times, words

_SERIES = ("x12:a:A:B:interchange", "edifact:ä:Ä:B:interchange")


def join(draw: Draw, story: JournalState) -> Entry | None:
    """Add some deliveries to a batch, which may be new."""
    if not story.free:
        return None
    numbers = story.choose(draw, story.free)
    batch = changed_batch(draw, story) or _new_batch(draw, story)
    story.gathered.update(numbers)
    joined = tuple(BatchMember(number=number, bytes=draw(sizes), kind=draw(words)) for number in numbers)
    return BatchesChanged(
        at_us=draw(times),
        by=draw(words),
        service=batch.service,
        what="joined",
        batches=(batch,),
        batch=batch.id,
        joined=joined,
    )


def change_batches(draw: Draw, story: JournalState) -> Entry | None:
    """Change one or several batches without new members: close, pause, suspend and so on."""
    if not story.batches:
        return None
    chosen = draw(st.lists(st.sampled_from(sorted(story.batches)), min_size=1, max_size=3, unique=True))
    changed = tuple(_changed(draw, story, story.batches[id_]) for id_ in chosen)
    return BatchesChanged(at_us=draw(times), by=draw(words), service=draw(services), what=draw(words), batches=changed)


def changed_batch(draw: Draw, story: JournalState) -> Batch | None:
    """Return a batch changed by an entry of another kind, or None."""
    if not story.batches or draw(st.booleans()):
        return None
    return _changed(draw, story, story.batches[draw(st.sampled_from(sorted(story.batches)))])


def assemble(draw: Draw, story: JournalState) -> AssembledInterchange | None:
    """Return the interchange facts of a message, rarely; with or without a batch."""
    if draw(st.integers(0, 3)):
        return None
    drawn = tuple(_drawn(draw, story) for _ in range(draw(st.integers(0, 2))))
    filed = st.builds(DocumentPosition, st.integers(0, 9), words, words, words, words)
    documents = tuple(draw(st.lists(filed, max_size=2)))
    return AssembledInterchange(draw(words), drawn, changed_batch(draw, story), documents, draw(st.booleans()))


def answer_interchange(draw: Draw, story: JournalState) -> Entry:
    batch = draw(st.sampled_from(["", *sorted(story.batches)]))
    said = st.builds(AnsweredMember, st.integers(0, 9), words)
    members = tuple(draw(st.lists(said, max_size=2)))
    by, session = draw(services), story.session()
    return InterchangeAnswered(
        at_us=draw(times),
        by=by,
        session=session,
        standard=draw(words),
        batch=batch,
        verdict=draw(words),
        members=members,
        detail=draw(words),
    )


def _new_batch(draw: Draw, story: JournalState) -> Batch:
    at_us = draw(times)
    batch = Batch(
        id=f"{draw(st.sampled_from('aZä'))}{story.next_seq}", key=(draw(words),), opened_at_us=at_us, latest_at_us=at_us,
        changed_at_us=at_us, service=draw(st.sampled_from(SERVICES[:2])), version=1,
    )  # fmt: skip
    story.batches[batch.id] = batch
    return batch


def _changed(draw: Draw, story: JournalState, batch: Batch) -> Batch:
    state, at_us = draw(st.sampled_from(BatchState)), draw(times)
    changed = replace(batch, state=state, changed_at_us=at_us, interchange=draw(words), version=batch.version + 1)
    story.batches[batch.id] = changed
    return changed


def _drawn(draw: Draw, story: JournalState) -> DrawnNumber:
    story.numbers += draw(st.integers(1, 3))
    return DrawnNumber(draw(st.sampled_from(_SERIES)), story.numbers)
