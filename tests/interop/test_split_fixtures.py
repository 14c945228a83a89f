"""Real X12, EDIFACT and HL7 files through a running network: each is taken apart whole, or is a dead letter that says why.

The collection lies beside the repository in ``../shared/fixtures``; without it there is nothing to try, and the tests say so.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from postroad.core.documents.detection import document_kind
from postroad.core.interchange.interchange_reader import RECOGNISED
from postroad.core.interchange.model import OnEnvelopeError
from postroad.core.interchange.standard import BUILT_IN
from postroad.errors import Refused
from tests.samples.splitter_scenario import INBOX, PARTNER, SplitterScenario, scenario

__all__ = ["scenario"]

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures"
FOLDERS = ("x12", "edifact", "hl7v2")

pytestmark = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason="needs the collection of real documents in ../shared/fixtures, which is not there"
)


def documents_in(data: bytes) -> int | None:
    """How many documents go on, by the standard's own room; None: it is refused."""
    name = RECOGNISED.get(document_kind(data), "")
    try:
        standard = BUILT_IN.standard(name)
        assert standard.split is not None
        found = list(standard.split(data, OnEnvelopeError.PASS, {}))
        assert standard.answers is not None
        for one in found:
            standard.answers(one)  # an answer that makes no sense is refused, too
    except Refused:
        return None
    answers = standard.is_answer or (lambda _: False)
    return sum(not answers(member) for one in found for member in one.members)


async def everything(scenario: SplitterScenario, address: str) -> Counter[str]:
    """How many documents came of each message."""
    came: Counter[str] = Counter()
    while some := await scenario.take(address, max=1_000):
        came.update(one.transaction for one in some)
    return came


@pytest.mark.req("B10")
@pytest.mark.parametrize("folder", FOLDERS)
async def test_a_real_file_is_taken_apart_whole_or_is_a_dead_letter(scenario: SplitterScenario, folder: str) -> None:
    files = sorted(path for path in (FIXTURES / folder).rglob("*") if path.is_file())
    assert len(files) > 20
    await scenario.agree(on_envelope_error=OnEnvelopeError.PASS, options=(("duplicates", "pass"),))
    expected = {await scenario.send(path.read_bytes()): documents_in(path.read_bytes()) for path in files}
    letters = await scenario.failures()
    assert await everything(scenario, INBOX) == Counter(
        {session: count for session, count in expected.items() if count}
    )
    unanswered = [letter for letter in letters if "interchange.unfit" in letter]  # taken apart, and not acknowledged
    assert len(letters) - len(unanswered) == sum(count is None for count in expected.values())
    assert await everything(scenario, PARTNER), "nobody was told"


@pytest.mark.req("B10")
async def test_half_a_real_file_is_never_taken(scenario: SplitterScenario) -> None:
    """Of HL7 one cannot tell: a message that stands alone has no end."""
    files = sorted(path for name in ("x12", "edifact") for path in (FIXTURES / name).rglob("*") if path.is_file())
    await scenario.agree(on_envelope_error=OnEnvelopeError.PASS)
    whole = [data for path in files if documents_in(data := path.read_bytes())]
    assert len(whole) > 50
    for data in whole:
        await scenario.send(data[: len(data) * 2 // 3])
    assert len(await scenario.failures()) == len(whole)
    assert not await everything(scenario, INBOX)
