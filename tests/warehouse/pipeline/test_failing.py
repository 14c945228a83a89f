"""Of Spark's account of a fault, the sentence that helps."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from postroad.errors import Unavailable
from postroad.warehouse.jobs.landing import explain_spark_errors, find_error_text

WORKER = """[STREAM_FAILED] Query terminated with exception: Job aborted. Traceback (most recent call last):
  File "worker.py", line 1, in main
postroad.errors.Unavailable: storage.damaged: file at offset 3: gone; run `postroad verify`

	at org.apache.spark.api.python.BasePythonRunner
Caused by: java.lang.IllegalStateException: something later
"""
CALLBACK = """An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
OSError: [Errno 28] No space left on device
"""
JAVA = """An error occurred while calling o1.parquet.
: org.apache.spark.SparkException: [FAILED_READ_FILE] Encountered error while reading file x.jsonl
	at org.apache.spark.X
Caused by: org.apache.spark.SparkRuntimeException: [CANNOT_PARSE_JSON_FIELD] Cannot parse the field name 'seq'
	at org.apache.spark.Y
"""


@pytest.mark.parametrize(
    ("account", "sentence"),
    [
        (WORKER, "storage.damaged: file at offset 3: gone; run `postroad verify`"),
        (CALLBACK, "OSError: [Errno 28] No space left on device"),
        (JAVA, "SparkRuntimeException: [CANNOT_PARSE_JSON_FIELD] Cannot parse the field name 'seq'"),
        ("nobody knows\nwhy", "nobody knows"),
    ],
)
def test_the_sentence_that_says_most_is_found(account: str, sentence: str) -> None:
    assert find_error_text(account) == sentence


def test_faults_of_spark_are_told_and_others_are_not_touched() -> None:
    with pytest.raises(Unavailable, match="No space left") as failed, explain_spark_errors():
        raise PySparkException(CALLBACK)
    assert failed.value.code == "warehouse.failed"
    with pytest.raises(ZeroDivisionError), explain_spark_errors():
        raise ZeroDivisionError
