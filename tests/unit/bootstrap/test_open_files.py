"""A server takes as many open files as it may have."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import resource
from postroad.bootstrap.open_files import allow_open_files
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
allow_open_files()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_the_limit_is_raised_to_the_most_and_no_further() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["200", "200"]
