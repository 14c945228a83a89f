"""The runner sees what it is there to see: a page that is wrong in any way fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.printed import Printed
from tests.docs.snippets import RunPython, Save, Type, steps_of, unrun
from tests.samples.shell import Shell

pytestmark = pytest.mark.docs

ONE, TWO = "0" * 32, "1" * 32
REAL, OTHER = "a" * 32, "b" * 32

PAGE = """# Page
<!-- file: a.txt -->
```
text
```
## First
```console
$ cat a.txt
text
$ echo one \\
> two
one two
```
## Second
<!-- not run: no time -->
```console
$ false
```
```python
print(1)
```
"""


def test_steps_stand_in_the_order_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert steps_of(page) == [
        Save(name="a.txt", text="text\n", place="page.md:4"),
        Type(command="cat a.txt", printed=("text",), place="page.md:8"),
        Type(command="echo one \\\ntwo", printed=("one two",), place="page.md:8"),
        RunPython(text="print(1)\n", place="page.md:20"),
    ]


def test_a_page_can_begin_after_a_section_of_another(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    after = tmp_path / "after.md"
    after.write_text("<!-- begins after: page.md#first -->\n```console\n$ true\n```\n")
    first = ["page.md:4", "page.md:8", "page.md:8"]
    assert [step.place for step in steps_of(after)] == [*first, "after.md:3"]
    after.write_text(after.read_text() + "\n## Second\n\n## Third\n")
    third = tmp_path / "third.md"
    third.write_text("<!-- begins after: after.md#second -->\n```console\n$ true\n```\n")
    assert [step.place for step in steps_of(third)] == [*first, "after.md:3", "third.md:3"], (
        "one begins after the other"
    )


def test_a_block_that_nobody_would_run_is_seen() -> None:
    assert unrun("```sh\nls -l\n```\n") == ["ls -l"]
    assert unrun("<!-- not run: needs root -->\n```sh\nls -l\n```\n") == []


def test_ids_are_learned_and_then_have_to_agree() -> None:
    printed = Printed({})
    assert not printed.differs((f"session {ONE}",), f"session {REAL}\n")
    assert printed.told(f"trace {ONE}") == f"trace {REAL}"
    assert not printed.differs((f"session {ONE}",), f"session {REAL}")
    assert printed.differs((f"session {ONE}",), f"session {OTHER}")


def test_the_same_new_id_twice_has_to_be_the_same_twice() -> None:
    assert not Printed({}).differs((f"{ONE} {TWO} {ONE}",), f"{REAL} {OTHER} {REAL}")
    assert Printed({}).differs((f"{ONE} {TWO} {ONE}",), f"{REAL} {OTHER} {OTHER}")


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        (("a",), "b"),
        (("a",), "a\nb"),
        (("a", "b"), "a"),
        ((), "a"),
        (("at 2026-11-15T10:00:00Z",), "at noon"),
        (("a", "…", "c"), "a\nb"),
        ((f"session {ONE}",), "session abc"),
    ],
)
def test_other_output_differs(expected: tuple[str, ...], output: str) -> None:
    assert Printed({}).differs(expected, output)


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ((), ""),
        (("at 2026-11-15T10:00:00Z", "took +1.0 ms"), "at 2027-01-01T00:00:00.123Z\ntook +3.4 s"),
        (("a", "…", "c"), "a\nb\nb\nc"),
        (("a", "…"), "a\nb\nb"),
        (("key … is in x",), "key 123 is in x"),
        (("on host:1",), "on host:2"),
    ],
)
def test_the_same_output_agrees(expected: tuple[str, ...], output: str) -> None:
    assert not Printed({"host:1": "host:2"}).differs(expected, output)


def test_a_session_keeps_what_commands_set_and_ends_what_they_started(tmp_path: Path) -> None:
    with Shell(tmp_path, {"PATH": "/usr/bin:/bin"}) as shell:
        assert shell.run("name=value; sleep 300 &") == (0, "")
        code, output = shell.run("echo $name; echo $! >pid; false")
        assert (code, output) == (1, "value\n")
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]
