"""What mediation costs: multiparts and their way into DIME beside the standard library, AS2 beside pyas2lib and bare RSA.

    python -m benchmarks.mediation [--publish]

Runs ``benchmarks.mime`` and ``benchmarks.as2`` one after the other. The exit code is 1 when a floor is missed. --publish rewrites
the section of docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from datetime import UTC, datetime

from benchmarks.machine import description
from benchmarks.sections import PAGE, publish

PARTS = ("mime", "as2")


def main() -> None:
    options = argparse.ArgumentParser(description="What mediation costs")
    options.add_argument("--publish", action="store_true")
    given = options.parse_args()
    ran = [subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], capture_output=True, text=True, check=False)
           for name in PARTS]  # fmt: skip
    about = "\n".join(f"- {name}: {value}" for name, value in description(PAGE.parent, with_peer=False).items())
    head = f"`python -m benchmarks.mediation` on {datetime.now(UTC):%Y-%m-%d}.\n\n{about}"
    text = "\n\n".join([head, *[f"```text\n{done.stdout.strip()}\n```" for done in ran]])
    print(text)
    sys.stderr.write("".join(done.stderr for done in ran if done.returncode))
    if given.publish:
        publish("mediation", text)
    sys.exit(any(done.returncode for done in ran))


if __name__ == "__main__":
    main()
