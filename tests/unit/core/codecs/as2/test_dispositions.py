"""Dispositions are read in every spelling that partners have, and every refusal has one."""

from __future__ import annotations

import pytest

from postroad.core.codecs.as2 import (
    PROCESSED,
    REFUSAL_DISPOSITIONS,
    Disposition,
    disposition_of,
    error,
    failure,
    read_disposition,
    warning,
)
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused

READ = {
    "automatic-action/MDN-sent-automatically; processed": PROCESSED,
    "Automatic-action/mdn-sent-automatically;processed": PROCESSED,
    "processed": PROCESSED,
    "automatic-action/MDN-sent-automatically; processed/error: authentication-failed": error("authentication-failed"),
    "automatic-action/MDN-sent-automatically; processed/ERROR: Unable to create /var/a; b: c": error(
        "Unable to create /var/a; b: c"
    ),
    "automatic-action/MDN-sent-automatically; failed/Failure: unsupported format": failure("unsupported format"),
    "automatic-action/MDN-sent-automatically; processed/Warning: duplicate-document": warning("duplicate-document"),
    "": Disposition(type=""),
}


@pytest.mark.parametrize("value", READ)
def test_a_disposition_is_read_however_it_is_written(value: str) -> None:
    assert read_disposition(value) == READ[value]


@pytest.mark.parametrize("disposition", [PROCESSED, *REFUSAL_DISPOSITIONS.values(), warning("late")])
def test_what_is_written_is_read_back(disposition: Disposition) -> None:
    assert read_disposition(str(disposition)) == disposition


def test_only_processed_without_an_error_is_an_acceptance() -> None:
    accepted = [disposition for disposition in READ.values() if disposition.accepted]
    assert set(accepted) == {PROCESSED, warning("duplicate-document")}
    assert not Disposition(type="displayed").accepted


def test_the_text_cannot_begin_another_field() -> None:
    assert "\n" not in str(error("a\r\nReceived-Content-MIC: x, sha1"))


@pytest.mark.req("T7")
def test_every_refusal_of_as2_has_its_disposition() -> None:
    assert [code for code in REFUSALS if code.startswith("as2.") and code not in REFUSAL_DISPOSITIONS] == []
    assert [code for code in REFUSAL_DISPOSITIONS if code not in REFUSALS] == []


def test_dispositions_have_the_words_of_the_standard() -> None:
    said = {code: str(disposition).partition("; ")[2] for code, disposition in REFUSAL_DISPOSITIONS.items()}
    assert said["as2.decryption-failed"] == "processed/error: decryption-failed"
    assert said["as2.insufficient-security"] == "processed/error: insufficient-message-security"
    assert said["as2.unsupported-format"] == "failed/Failure: unsupported format"
    assert said["as2.unsupported-mic-algorithms"] == "failed/Failure: unsupported MIC-algorithms"


def test_any_other_refusal_is_our_own_affair() -> None:
    assert disposition_of(Refused("recipient.unknown", "…")) == error("unexpected-processing-error")
