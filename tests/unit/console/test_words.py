"""Values as people read them."""

from __future__ import annotations

import re
from pathlib import Path

import postroad
from postroad.console.template_filters import (
    ACCESSES,
    describe_access,
    describe_access_target,
    format_duration,
    format_size,
    mark_code,
    shorten_id,
    shorten_reference,
    shorten_with_title,
)


def test_ids_of_one_hour_are_told_apart_by_what_is_shown_of_them() -> None:
    first, second = "01a1e5a8ff2f1864cecfc8e1d7bab8ec", "01a1e5a8ff32ee4e595f1b922a0f6680"
    assert shorten_id(first) == "01a1…bab8ec"
    assert shorten_id(first) != shorten_id(second)
    assert shorten_with_title(first) == f'<span class="id" title="{first}">01a1…bab8ec</span>'


def test_what_is_short_or_evil_stays_what_it_is() -> None:
    assert shorten_id("order-4711") == shorten_with_title("order-4711") == "order-4711"
    assert shorten_with_title("<b>") == "&lt;b&gt;"
    assert "<b>" not in shorten_with_title("<b>" * 9)


def test_names_in_backticks_are_shown_as_code() -> None:
    assert mark_code("Less than twice `least_free_bytes`, or <b> and `<i>`") == (
        "Less than twice <code>least_free_bytes</code>, or &lt;b&gt; and <code>&lt;i&gt;</code>"
    )


def test_lengths_are_told_in_the_units_people_use() -> None:
    assert [format_duration(one) for one in (0.0004, 0.8, 9.94, 59.9, 3_600, 90_061)] == [
        "0 ms", "800 ms", "9.9 s", "59 s", "1 h", "1 d 1 h",
    ]  # fmt: skip
    assert [format_size(one) for one in (0, 999, 1_000, 999_960, 3 * 10**12)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.0 MB",
        "3.0 TB",
    ]


def test_a_long_reference_is_cut_in_the_middle_and_whole_in_its_title() -> None:
    handle = "<20261118-4711-AS2-MESSAGE@very-long-host-name.partner.example>"
    shown = str(shorten_reference(handle))
    assert 'title="&lt;20261118' in shown
    assert len(re.sub(r"<[^>]*>", "", shown)) < 40
    assert str(shorten_reference("PO-1001")) == "PO-1001"


def test_recorded_accesses_are_shown_in_words() -> None:
    assert describe_access("payload.read") == "read the contents of a message"
    source = Path(postroad.__file__).parent
    written = [
        re.findall(r'AccessRecorded\([^\n]*?"([a-z.]+)"', file.read_text()) for file in (source / "flow").rglob("*.py")
    ]
    kinds = {kind for found in written for kind in found}
    assert "push.tried" in kinds
    assert kinds <= ACCESSES.keys()
    shown = str(describe_access_target(f"{'a' * 32} 47251456 1"))
    assert ("delivery 47251456, part 1" in shown, 'title="aaaa' in shown) == (True, True)
    assert str(describe_access_target("<wrong password>")) == "&lt;wrong password&gt;"
