"""Short error texts for failed Spark jobs, extracted from Python and Java stack traces.

Rule: an error that was raised on purpose keeps its text; of any other the innermost cause is reported. Nothing is
retried.
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
def explain_spark_errors() -> Iterator[None]:
    """Raise errors of a job as ``Unavailable`` with a short text; nothing of the job was committed."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise Unavailable(
            "warehouse.failed", f"{find_error_text(str(error))}; nothing was written, run it again once it is fixed"
        ) from error


def find_error_text(text: str) -> str:
    """Return the most specific sentence of a Spark error: postroad's own text, else the innermost cause."""
    if found := ON_PURPOSE.search(text):
        return found[1].strip()
    causes = CAUSE.findall(text)
    return causes[-1].strip() if causes else text.strip().partition("\n")[0]
