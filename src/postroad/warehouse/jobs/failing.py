"""What went wrong in Spark, in a sentence: between a fault in a worker and whoever reads of it lie two languages' stack traces.

Kept rule: a fault that was raised on purpose keeps its own words; of any other the innermost cause is told. Nothing is retried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from postroad.errors import Unavailable

ON_PURPOSE = re.compile(r"postroad\.errors\.(?:Unavailable|Misconfigured|Refused): (.+)")
CAUSE = re.compile(r"^(?:Caused by: )?(?:[\w.]+\.)?(\w+(?:Error|Exception): .+)$", re.MULTILINE)


@contextmanager
def told_plainly() -> Iterator[None]:
    """Faults of a job as ``Unavailable``, which commands know how to tell; nothing of the job was committed."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise Unavailable(
            "warehouse.failed", f"{fault_in(str(error))}; nothing was written, run it again once mended"
        ) from error


def fault_in(text: str) -> str:
    """The sentence that says most in Spark's account of a fault: our own words, else the innermost cause."""
    if found := ON_PURPOSE.search(text):
        return found[1].strip()
    causes = CAUSE.findall(text)
    return causes[-1].strip() if causes else text.strip().partition("\n")[0]
