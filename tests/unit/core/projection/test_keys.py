"""Keys of what must not happen twice."""

from __future__ import annotations

from postroad.core.projection.unique_keys import flagged_key, handle_key


def test_no_handle_is_its_own_flagged_key() -> None:
    """One key in 256 lies in the range of flagged keys; a post with such a handle would refuse the next one."""
    handles = [handle_key("a" * 16, str(number)) for number in range(3_000)]
    assert not {flagged_key(handle) for handle in handles} & set(handles)
    assert len({flagged_key(handle) for handle in handles}) == len(handles)
