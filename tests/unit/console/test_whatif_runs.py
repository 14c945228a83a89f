"""What-if runs as programs beside the server: known by what lies in their folder, at work as long as they hold their lock."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from postroad.bootstrap.settings import Settings
from postroad.console.rendering import Rendering
from postroad.console.whatif_runs import RunState, WhatIfRequest, WhatIfRun, WhatIfRuns
from postroad.errors import Refused
from tests.waiting import eventually

SECRET = "ab" * 32
WISH = WhatIfRequest(by="operator@localhost", at_us=1, begin="2026-10-01", baseline="then", prune=True)
TELLS = """
import json, os, sys
print(json.dumps({"arguments": sys.argv[1:], "secret": os.environ.get("POSTROAD_SECRET", "")}))
"""
WAITS = "import time; print('{}', flush=True); time.sleep(60)"  # sleeps: until it is killed
FAILS = "import sys; sys.exit('there is no Java here')"


def runs(data: Path, code: str, **more: str) -> WhatIfRuns:
    return WhatIfRuns(settings=Settings(data=data, **more), program=(sys.executable, "-c", code))  # type: ignore[arg-type]


def ended(run: WhatIfRun) -> RunState:
    eventually(lambda: run.state is not RunState.WORKING)
    return run.state


def test_a_run_is_asked_as_it_was_wished_and_its_report_is_kept(tmp_path: Path) -> None:
    started = runs(tmp_path, TELLS).start("0123456789ab", WISH, "postroad: 1")
    assert ended(started) is RunState.DONE
    (found,) = runs(tmp_path, TELLS).all()  # by another server
    assert found.report is not None
    given = found.report["arguments"]
    assert given[:4] == ["whatif", "--json", "--baseline", "then"]
    assert given[given.index("--from") + 1] == "2026-10-01"
    assert given[given.index("--data") + 1] == str(tmp_path)
    assert {"--prune", "--progress", "--html"} < set(given)
    assert given[given.index("--author") + 1] == WISH.by
    assert "--to" not in given
    assert Path(given[given.index("--config") + 1]).read_text() == "postroad: 1"
    assert (found.wish, found.report["secret"]) == (WISH, "")
    found.remove()
    assert runs(tmp_path, TELLS).all() == []


def test_a_report_that_an_older_program_has_left_is_still_a_report(tmp_path: Path) -> None:
    run = runs(tmp_path, "print('{}')").start("0123456789ab", WISH, "postroad: 1")
    assert ended(run) is RunState.DONE
    values: dict[str, object] = {
        "run": run,
        "report": run.report,
        "plot": {"curves": []},
        "most": 20,
        "change": "",
        "person": None,
        "csrf": "",
        "told": "",
    }
    assert "The change would have no effect" in Rendering().text("whatif_report.html", values)


def test_a_shared_network_is_told_where_nobody_else_reads_it(tmp_path: Path) -> None:
    shared = runs(tmp_path, TELLS, acceptance="shared", index="postgres", postgres="postgresql://x", secret=SECRET)
    run = shared.start("0123456789ab", WISH, "postroad: 1")
    assert ended(run) is RunState.DONE
    assert run.report is not None
    assert "--data" not in run.report["arguments"]
    assert SECRET not in str(run.report["arguments"])
    assert run.report["secret"] == SECRET


def test_one_is_at_work_at_a_time_and_can_be_stopped(tmp_path: Path) -> None:
    known = runs(tmp_path, WAITS)
    run = known.start("0123456789ab", WISH, "postroad: 1")
    assert run.state is RunState.WORKING
    with pytest.raises(Refused, match="is active"):
        known.start("0123456789ac", WISH, "postroad: 1")
    run.remove()
    assert [one.id for one in known.all()] == [run.id], "what is at work is not removed"
    run.stop()
    ended(run)
    run.stop()  # its number may be another's by now
    run.remove()
    assert known.all() == []


def test_what_ends_without_a_report_has_failed_and_says_why(tmp_path: Path) -> None:
    run = runs(tmp_path, FAILS).start("0123456789ab", WISH, "postroad: 1")
    assert ended(run) is RunState.FAILED
    assert "there is no Java here" in run.output
    for name in ("../../etc", "0123456789AB", "", "0123456789ab0"):
        assert runs(tmp_path, FAILS).find(name) is None


def test_of_two_who_start_at_once_one_does(tmp_path: Path) -> None:
    def start(number: int) -> WhatIfRun | None:
        try:
            return runs(tmp_path, WAITS).start(f"{number:012x}", WISH, "postroad: 1")
        except Refused:
            return None

    with ThreadPoolExecutor(8) as pool:
        started = [run for run in pool.map(start, range(8)) if run is not None]
    for run in started:
        run.stop()
        ended(run)
        run.stop()  # which does nothing any more
    assert len(started) == 1
