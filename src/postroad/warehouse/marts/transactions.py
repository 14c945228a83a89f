"""The mart ``transactions``: a request with its responses, errors and durations; a notification with what became of it.

Grain: one row per ``transaction``. ``day`` is the day on which it began. ``status`` is one word for the whole: ``under way``
while a copy is, else the worst of what became of its copies (failed, expired, rejected, cancelled), else ``error`` if a response
reports one, else ``answered`` for a request and ``delivered`` for a notification; ``refused`` when no copy was accepted.
What exchanges and models send on of a message belongs to its transaction, but the transaction is over without it.
Durations are in microseconds by the clocks of the nodes concerned; where these disagree, nothing took less than no time.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

BADNESS = ("delivered", "cancelled", "rejected", "expired", "failed", "under way")  # from best to worst
OPENING = ("transaction", "day", "type", "topic", "sender", "began_at_us")


def transactions(message_histories: DataFrame) -> DataFrame:
    """The transactions that began in these histories; what followed from them must be among them too."""
    parted = message_histories.repartition("transaction")
    opened = _openings(parted)
    whole = opened.join(_answers(parted), "transaction", "left")
    answers = ("responses", "network_errors", "errors", "response_bytes")
    whole = whole.withColumns({name: fn.coalesce(name, fn.lit(0)) for name in answers})
    return whole.select(
        "transaction",
        "day",
        "type",
        "topic",
        "sender",
        "began_at_us",
        "copies",
        "refused_copies",
        *answers,
        (fn.col("bytes") + fn.col("response_bytes")).alias("bytes"),
        "attempts",
        _lasting("delivered_at_us").alias("delivery_us"),
        _lasting("answered_at_us").alias("response_us"),
        _lasting("ended_at_us").alias("duration_us"),
        _status().alias("status"),
    )


def _openings(histories: DataFrame) -> DataFrame:
    """The message that began the transaction, over its copies."""
    rows = histories.where(fn.col("answers_session").isNull() & (fn.col("session") == fn.col("transaction")))
    stops = fn.col("stops")
    attempts = fn.aggregate(stops, fn.lit(0).cast("bigint"), lambda sum_, stop: sum_ + stop["attempts"])
    last = fn.element_at(stops, -1)
    at_recipient = last["hop"] >= fn.col("hops_planned") - 1
    is_accepted = fn.col("code").isNull()
    wide = rows.select(
        "transaction",
        "day",
        "type",
        "topic",
        "sender",
        fn.col("posted_at_us").alias("began_at_us"),
        is_accepted.alias("is_accepted"),
        _badness().alias("badness"),
        fn.when(at_recipient, last["handed_out_at_us"]).alias("delivered_at_us"),
        "ended_at_us",
        fn.coalesce("size", fn.lit(0)).alias("size"),
        fn.coalesce(fn.when(is_accepted, attempts), fn.lit(0)).alias("attempts"),
    )
    return wide.groupBy(*OPENING).agg(
        fn.count("*").alias("copies"),
        fn.count_if(~fn.col("is_accepted")).alias("refused_copies"),
        fn.max("badness").alias("badness"),
        fn.max("delivered_at_us").alias("delivered_at_us"),
        fn.max("ended_at_us").alias("ended_at_us"),
        fn.max("size").alias("bytes"),
        fn.sum("attempts").alias("attempts"),
    )


def _answers(histories: DataFrame) -> DataFrame:
    """The responses of a transaction; those that the network gave for someone are counted apart."""
    rows = histories.where(fn.col("answers_session").isNotNull() & (fn.col("copy") == 0))
    by_network = fn.col("form") == "network"
    is_error = fn.col("status_code").isNotNull() & ~by_network
    return rows.groupBy("transaction").agg(
        fn.count_if(~by_network).alias("responses"),
        fn.count_if(by_network).alias("network_errors"),
        fn.count_if(is_error).alias("errors"),
        fn.max(fn.when(~by_network, fn.col("posted_at_us"))).alias("answered_at_us"),
        fn.sum(fn.coalesce("size", fn.lit(0))).alias("response_bytes"),
    )


def _badness() -> Column:
    """How bad the end of a copy is; null for a refused one. What waits is under way whether it is followed or not."""
    state = fn.when(fn.col("state") == "queued", "under way").otherwise(fn.col("state"))
    named = [(state == name, place) for place, name in enumerate(BADNESS)]
    first, *others = named
    return reduce(lambda case, one: case.when(*one), others, fn.when(*first)).cast("int")


def _status() -> Column:
    bad = fn.element_at(fn.array(*[fn.lit(name) for name in BADNESS]), fn.col("badness") + 1)
    is_request = fn.col("type") == "request"
    return (
        fn.when(fn.col("badness").isNull(), "refused")
        .when(fn.col("badness") > 0, bad)
        .when(fn.col("errors") > 0, "error")
        .otherwise(fn.when(is_request, "answered").otherwise("delivered"))
    )


def _lasting(until: str) -> Column:
    return fn.when(fn.col(until).isNotNull(), fn.greatest(fn.lit(0), fn.col(until) - fn.col("began_at_us")))
