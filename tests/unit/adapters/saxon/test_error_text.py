"""Saxon's words become a place and a sentence, without our own file names."""

from __future__ import annotations

import os

import pytest

from postroad.adapters.confined.frames import WorkerOutcome
from postroad.adapters.confined.pipes import StandardErrorPipe
from postroad.adapters.saxon.error_text import LONGEST_DETAIL, refusal

AT_RUN_TIME = (
    "Error at char 27 in expression in xsl:value-of/@select on line 12 column 56 of file:///:\n"
    '  FORG0001  Cannot convert string "x" to an integer\n'
    '  In template rule with match="document-node()" on line 3 of file:///\n'
)


@pytest.mark.parametrize(
    ("fault", "printed", "outcome"),
    [
        (
            " Error in {1 +} at char 4 in xsl:value-of/@select on line 3 column 29 of file:///:\n  XPST0003  Unexpected token\n",
            "",
            WorkerOutcome(
                code="c",
                detail="Error in {1 +} at char 4 in xsl:value-of/@select on line 3 column 29: XPST0003 Unexpected token",
                line=3,
            ),
        ),
        (
            ' Cannot convert string "x" to an integer',
            AT_RUN_TIME,
            WorkerOutcome(code="c", detail='Cannot convert string "x" to an integer', line=12),
        ),
        (
            " Processing terminated by xsl:message at line 1 in file:///",
            "first\nno   zip\n" + AT_RUN_TIME,
            WorkerOutcome(code="c", detail="xsl:message ended the transform: no zip", line=12),
        ),
        (
            " Processing terminated by xsl:message at line 1 in file:///",
            "",
            WorkerOutcome(code="c", detail="Processing terminated by xsl:message at line 1", line=0),
        ),
        (" boom.", "it happened on line 7, says a message", WorkerOutcome(code="c", detail="boom", line=0)),
        ("x" * 5_000, "", WorkerOutcome(code="c", detail="x" * LONGEST_DETAIL, line=0)),
    ],
    ids=["compiling", "running", "ended by message", "message lost", "no report", "long"],
)
def test_a_fault_is_told_with_its_place(fault: str, printed: str, outcome: WorkerOutcome) -> None:
    assert refusal("c", fault, printed) == outcome


def fill(writing: int) -> None:
    while os.write(writing, b"x" * 4_096):
        pass


def test_what_was_printed_is_taken_once_and_a_flood_is_cut() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    printed = StandardErrorPipe(reading)
    try:
        assert printed.take() == ""
        os.write(writing, "é".encode())
        assert printed.take() == "é"
        assert printed.take() == ""
        with pytest.raises(BlockingIOError):
            fill(writing)
        assert set(printed.take()) == {"x"}
        os.write(writing, b"there is room again")
    finally:
        os.close(reading)
        os.close(writing)
