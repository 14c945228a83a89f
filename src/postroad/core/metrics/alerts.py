"""The table of alerts and objectives: what Prometheus evaluates, and what ``postroad doctor --live`` evaluates without it.

Rules: each alert has a runbook page of its own name in ``docs/runbooks``. ``deploy/prometheus/postroad.rules.yml`` is written
from this table (``python -m scripts.reference_pages``). A live condition has the threshold of its expression, applied to two
pages some seconds apart; an alert without one needs history. Severity "page" means that a promise of the network is at risk soon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from postroad.core.metrics.readings import MetricReadings
from postroad.core.metrics.table import CHANNEL

PAGE, TICKET = "page", "ticket"
DAY_S = 86_400
MAX_BATCH_S = 2 * DAY_S
SYNC_S, LAG_S = 0.1, 0.5
LATE_S, BEHIND_S, OLD_S = 60, 30, 3_600
BACKUP_S, VERIFY_S = 26 * 3_600, 8 * DAY_S
LETTERS, GUESSES, KILLS, PUSHES = 20, 500, 5, 20
CERTIFICATES, CREDENTIAL = ("server", "push", "as2"), "credential"  # what expires; owners are notified of credentials


class Alert(NamedTuple):
    """One alert."""

    name: str
    expression: str  # PromQL
    hold: str  # how long it must be true
    severity: str
    summary: str  # the problem, in one sentence
    live: Callable[[MetricReadings], bool] | None = None
    history: str = ""  # why it cannot be evaluated live


class Recording(NamedTuple):
    """A recorded series, for alerts and dashboards."""

    name: str
    expression: str


def rate_quantile(metric: str) -> str:
    return f"histogram_quantile(0.99, sum by (job, instance, le) (rate({metric}_bucket[5m])))"


def _burn(bad: str, all_of: str, budget: str, window: str) -> str:
    """Return how many times faster than allowed the error budget is used; 1 uses all of it exactly."""
    bad, all_of = bad.replace("WINDOW", window), all_of.replace("WINDOW", window)
    return f"({bad}) / ({all_of} > 0) / {budget}"


POSTS = "sum by (job) (rate(postroad_posts_total[WINDOW]))"
UNAVAILABLE = 'sum by (job) (rate(postroad_posts_total{outcome="unavailable"}[WINDOW]))'
TIMED = "sum by (job) (rate(postroad_post_seconds_count[WINDOW]))"
SLOW = f'{TIMED} - sum by (job) (rate(postroad_post_seconds_bucket{{le="0.1"}}[WINDOW]))'
HANDED = 'sum by (job) (rate(postroad_first_handout_seconds_count{present="yes"}[WINDOW]))'
LATE = f'{HANDED} - sum by (job) (rate(postroad_first_handout_seconds_bucket{{present="yes",le="1.0"}}[WINDOW]))'

# Objectives over a month: 99.9 % of posts are answered without "unavailable", 99 % within 100 ms, and 99 % of messages for a
# receiver that is asking are handed out within 1 s. The fourth, every end within 60 s of its expiry, is PostroadEndsLate.
RECORDINGS = tuple(
    Recording(f"postroad:slo_{objective}:burn_{window}", _burn(bad, all_of, budget, window))
    for objective, bad, all_of, budget in (
        ("availability", UNAVAILABLE, POSTS, "0.001"),
        ("post_latency", SLOW, TIMED, "0.01"),
        ("hand_out", LATE, HANDED, "0.01"),
    )
    for window in ("1h", "6h")
)


def _burns(objective: str) -> str:
    return f"postroad:slo_{objective}:burn_1h > 10 and postroad:slo_{objective}:burn_6h > 2"


def _expires_within(days: int, *kinds: str) -> Callable[[MetricReadings], bool]:
    """Return whether something of these kinds expires soon, or has expired."""

    def is_near(page: MetricReadings) -> bool:
        ends = [
            end for kind in kinds for end in page.all_of("postroad_certificate_expires_timestamp_seconds", what=kind)
        ]
        return any(end - page.now_s < days * DAY_S for end in ends)

    return is_near


def _deliveries_are_old(page: MetricReadings) -> bool:
    return page.value("postroad_oldest_waiting_seconds") > OLD_S and page.value("postroad_long_polls") > 0


def _older_than(most_s: int, metric: str, otherwise: str = "") -> Callable[[MetricReadings], bool]:
    """Return whether a time lies too far back; a time that is absent does not. ``otherwise``: read if the metric is absent."""

    def is_old(page: MetricReadings) -> bool:
        times = page.all_of(metric) or (page.all_of(otherwise) if otherwise else [])
        return any(page.now_s - at_s > most_s for at_s in times)

    return is_old


def _notifications_fail(page: MetricReadings) -> bool:
    return any(
        page.value("postroad_notifications_waiting", channel=channel) > 0
        and page.increase("postroad_notifications_total", channel=channel, result="sent") == 0
        for channel in CHANNEL.values
    )


def _pushes_fail(page: MetricReadings) -> bool:
    made = page.increase("postroad_push_attempts_total")
    good = page.increase("postroad_push_attempts_total", result="ok")
    return made * 900 > PUSHES * page.seconds and made > 1 and (made - good) / made > 0.5


def _grows(metric: str, count: int, window_s: int) -> Callable[[MetricReadings], bool]:
    """Return whether a counter grows so fast that ``count`` is exceeded within the window; a single one is not a pace."""

    def is_fast(page: MetricReadings) -> bool:
        grown = page.increase(metric)
        return grown > 1 and grown / page.seconds * window_s > count

    return is_fast


ALERTS: tuple[Alert, ...] = (
    Alert(
        "PostroadDown",
        'up{job="postroad"} == 0',
        "2m",
        PAGE,
        "A node does not answer scrapes of its metrics page.",
        lambda page: False,  # there is a page
    ),
    Alert(
        "PostroadRefusesPosts",
        'sum by (job, instance) (rate(postroad_posts_total{outcome="unavailable"}[5m])) > 0',
        "5m",
        PAGE,
        "A node refuses posts because it cannot store them.",
        lambda page: page.increase("postroad_posts_total", outcome="unavailable") > 0,
    ),
    Alert(
        "PostroadDiskLow",
        "postroad_disk_free_bytes < 2 * postroad_disk_least_free_bytes",
        "10m",
        PAGE,
        "The journal's disk is nearly full; posts are refused below the limit.",
        lambda page: page.value("postroad_disk_free_bytes") < 2 * page.value("postroad_disk_least_free_bytes"),
    ),
    Alert(
        "PostroadDiskFilling",
        "predict_linear(postroad_disk_free_bytes[6h], 86400) < postroad_disk_least_free_bytes",
        "1h",
        TICKET,
        "At the rate of the last 6 hours, the journal's disk is full within a day.",
        history="6 hours of free disk space",
    ),
    Alert(
        "PostroadSyncSlow",
        f"{rate_quantile('postroad_journal_sync_seconds')} > {SYNC_S}",
        "10m",
        TICKET,
        "Syncs of the journal take more than 100 ms (99th percentile).",
        lambda page: page.quantile(0.99, "postroad_journal_sync_seconds") > SYNC_S,
    ),
    Alert(
        "PostroadJournalBacklog",
        "postroad_journal_waiting_bytes > 0.5 * postroad_journal_waiting_limit_bytes",
        "2m",
        TICKET,
        "Posts arrive faster than they can be stored; at the limit they are refused with network.busy.",
        lambda page: (
            page.value("postroad_journal_waiting_bytes") > 0.5 * page.value("postroad_journal_waiting_limit_bytes")
        ),
    ),
    Alert(
        "PostroadIndexBehind",
        f"postroad_index_behind_seconds > {BEHIND_S}",
        "5m",
        TICKET,
        "The index is more than 30 seconds behind the journal.",
        lambda page: page.value("postroad_index_behind_seconds") > BEHIND_S,
    ),
    Alert(
        "PostroadDeliveriesOld",
        f"postroad_oldest_waiting_seconds > {OLD_S} and postroad_long_polls > 0",
        "15m",
        TICKET,
        "A message has waited for more than an hour although receivers are connected.",
        _deliveries_are_old,
    ),
    Alert(
        "PostroadEndsLate",
        f"max by (job) (postroad_ends_late_seconds) > {LATE_S}",
        "5m",
        PAGE,
        "Expired messages are not ended: senders of requests still wait for an error response.",
        lambda page: page.value("postroad_ends_late_seconds") > LATE_S,
    ),
    Alert(
        "PostroadDeadLetters",
        f"sum by (job) (increase(postroad_dead_letters_total[15m])) > {LETTERS}",
        "0m",
        TICKET,
        "More than 20 deliveries became dead letters within 15 minutes.",
        _grows("postroad_dead_letters_total", LETTERS, 900),
    ),
    Alert(
        "PostroadPushFailing",
        'sum by (job) (increase(postroad_push_attempts_total{result!="ok"}[15m]))'
        " / sum by (job) (increase(postroad_push_attempts_total[15m])) > 0.5"
        f" and sum by (job) (increase(postroad_push_attempts_total[15m])) > {PUSHES}",
        "15m",
        TICKET,
        "More than half of all pushes fail.",
        _pushes_fail,
    ),
    Alert(
        "PostroadNoLeader",
        "sum by (job) (postroad_leader) != 1",
        "2m",
        PAGE,
        "No node is the leader, which updates the index and expires messages, or several nodes are.",
        history="the pages of all nodes",
    ),
    Alert(
        "PostroadBatchStuck",
        f"max by (job) (postroad_oldest_open_batch_seconds) > {MAX_BATCH_S}",
        "15m",
        TICKET,
        "A batch has waited for more than two days to be assembled.",
        lambda page: page.value("postroad_oldest_open_batch_seconds") > MAX_BATCH_S,
    ),
    Alert(
        "PostroadBatchSuspended",
        'max by (job) (postroad_batches{state="suspended"}) > 0',
        "15m",
        TICKET,
        "A batch is suspended until its owner resumes or drops it.",
        lambda page: page.value("postroad_batches", state="suspended") > 0,
    ),
    Alert(
        "PostroadCertificateSoon",
        f"postroad_certificate_expires_timestamp_seconds - time() < {14 * DAY_S}",
        "1h",
        TICKET,
        "A certificate or key expires within 14 days.",
        _expires_within(14, *CERTIFICATES, CREDENTIAL),
    ),
    Alert(
        "PostroadCertificateNow",
        f'postroad_certificate_expires_timestamp_seconds{{what!="{CREDENTIAL}"}} - time() < {2 * DAY_S}',
        "1h",
        PAGE,
        "A certificate of the server, for pushes or AS2 expires within 2 days, or has expired.",
        _expires_within(2, *CERTIFICATES),
    ),
    Alert(
        "PostroadLoopLag",
        f"{rate_quantile('postroad_loop_lag_seconds')} > {LAG_S}",
        "5m",
        TICKET,
        "The event loop of a node is blocked for half a second or more (99th percentile).",
        lambda page: page.quantile(0.99, "postroad_loop_lag_seconds") > LAG_S,
    ),
    Alert(
        "PostroadFilesLow",
        "process_open_fds > 0.8 * process_max_fds and process_max_fds > 0",
        "10m",
        TICKET,
        "A node uses 80% of its limit of open files and connections.",
        lambda page: page.value("process_open_fds") > 0.8 * page.value("process_max_fds") > 0,
    ),
    Alert(
        "PostroadPostgresUnavailable",
        "sum by (job, instance) (rate(postroad_postgres_unavailable_total[5m])) > 0",
        "5m",
        PAGE,
        "A node cannot write to PostgreSQL.",
        lambda page: page.increase("postroad_postgres_unavailable_total") > 0,
    ),
    Alert(
        "PostroadDirectoryOld",
        f"postroad_directory_age_seconds > {BEHIND_S}",
        "5m",
        TICKET,
        "A node has not read the configuration changes of other nodes for 30 seconds.",
        lambda page: page.value("postroad_directory_age_seconds") > BEHIND_S,
    ),
    Alert(
        "PostroadGuessing",
        f"sum by (job) (increase(postroad_authentication_failures_total[15m])) > {GUESSES}",
        "0m",
        TICKET,
        "More than 500 authentications failed within 15 minutes: someone guesses, or a client has an old key.",
        _grows("postroad_authentication_failures_total", GUESSES, 900),
    ),
    Alert(
        "PostroadEngineKills",
        f"sum by (job, engine) (increase(postroad_engine_kills_total[15m])) > {KILLS}",
        "0m",
        TICKET,
        "Worker processes were killed more than 5 times within 15 minutes: a transform, script or schema exceeds its limits.",
        _grows("postroad_engine_kills_total", KILLS, 900),
    ),
    Alert(
        "PostroadBackupOld",
        f"time() - postroad_backup_last_success_timestamp_seconds > {BACKUP_S}",
        "15m",
        TICKET,
        "The last successful backup is more than 26 hours old.",
        _older_than(BACKUP_S, "postroad_backup_last_success_timestamp_seconds"),
    ),
    Alert(
        "PostroadVerifyOld",
        "time() - (postroad_verify_last_success_timestamp_seconds or postroad_backup_first_success_timestamp_seconds)"
        f" > {VERIFY_S}",
        "15m",
        TICKET,
        "No verification of a backup has succeeded for 8 days, or within 8 days after the first backup.",
        _older_than(
            VERIFY_S,
            "postroad_verify_last_success_timestamp_seconds",
            otherwise="postroad_backup_first_success_timestamp_seconds",
        ),
    ),
    Alert(
        "PostroadNotificationsFailing",
        "max by (job, channel) (postroad_notifications_waiting) > 0 unless"
        ' sum by (job, channel) (increase(postroad_notifications_total{result="sent"}[1h])) > 0',
        "15m",
        TICKET,
        "Notifications of a channel cannot be sent, and none was within an hour.",
        _notifications_fail,
    ),
    Alert(
        "PostroadSloAvailability",
        _burns("availability"),
        "5m",
        PAGE,
        "Posts are refused so often that a month's error budget of 0.1% is used up within days.",
        history="6 hours of posts",
    ),
    Alert(
        "PostroadSloPostLatency",
        _burns("post_latency"),
        "15m",
        TICKET,
        "Too many posts take longer than 100 ms; the objective is 99 % of a month's posts.",
        history="6 hours of posts",
    ),
    Alert(
        "PostroadSloHandOut",
        _burns("hand_out"),
        "15m",
        TICKET,
        "Too many messages wait longer than 1 s although their receiver polls; the objective is 99% of a month's messages.",
        history="6 hours of hand-outs",
    ),
)


def runbook_path(alert: str) -> str:
    """Return the path of an alert's runbook page in the repository."""
    return f"docs/runbooks/{alert}.md"
