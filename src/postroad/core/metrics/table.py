"""The table of all metrics. A metric that is not listed here does not exist.

To add one: add a row, get its instrument from the ``Metrics`` that your component receives (``Plumbing.metrics`` in the flow),
and run ``python -m scripts.reference_pages``. Use it in a dashboard or an alert (``scripts/dashboards.py``,
``deploy/prometheus/postroad.rules.yml``), or mark it ``is_detail``; a test compares.

Names follow Prometheus: base units (``_seconds``, ``_bytes``), ``_total`` at the end of every counter.
"""

from __future__ import annotations

from postroad.core.metrics.declaration import OTHER, Label, Metric, MetricKind

COUNTER, GAUGE, HISTOGRAM, INFO = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM, MetricKind.INFO

# Upper bounds in seconds: of work on one machine, of syncs, of calls to other machines, and of waiting in the network.
WORK_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SYNC_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
CALL_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
WAIT_S = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3_600.0, 14_400.0, 86_400.0, 604_800.0)

FORM = Label(
    "form",
    (
        "json",
        "soap11",
        "soap12",
        "envelope",
        "soap",
        "swa",
        "dime",
        "mime",
        "as2",
        "cloudevents",
        "push",
        "hosted",
        "network",
        OTHER,
    ),
)
CHANNEL = Label("channel", ("message", "email", "webhook", "slack"))
MODE = Label("mode", ("poll", "push", "hosted"))
SPEED = Label("speed", ("quick", "slow"))
ENGINE = Label("engine", ("saxon", "script", "validation", "reader"))
ROUTE = Label(
    "route",
    ("post", "bulk", "soap", "next", "poll", "acknowledge", "as2", "document", "api", "console", "health"),
)

METRICS: tuple[Metric, ...] = (
    # posts
    Metric(
        "posts_total",
        COUNTER,
        "Posts by outcome and wire form; push: responses to pushes; hosted: of built-in services; network: error responses;"
        " other: also posts that were refused unread.",
        (Label("outcome", ("accepted", "duplicate", "refused", "unavailable")), FORM),
    ),
    Metric("post_refusals_total", COUNTER, "Refused posts by stable code.", (Label("code", most=200),)),
    Metric(
        "post_seconds",
        HISTOGRAM,
        "Time from the arrival of a post to its response; bulk: of a call with many posts.",
        (Label("bulk", ("no", "yes")),),
        WORK_S,
    ),
    Metric("post_bytes_total", COUNTER, "Bytes of accepted posts, as they arrived."),
    Metric(
        "authentication_failures_total",
        COUNTER,
        "Failed authentications by kind of credential, and attempts that were delayed or refused.",
        (Label("kind", ("key", "password", "certificate", "throttled")),),
    ),
    Metric(
        "rate_limited_total",
        COUNTER,
        "Requests refused because there were too many, by what was limited; post: single posts of an organization.",
        (Label("what", ("post", "api", "console", "registration", "mail", "notification")),),
    ),
    # journal
    Metric("journal_entries_total", COUNTER, "Journal entries that this node has written."),
    Metric("journal_bytes_total", COUNTER, "Bytes that this node has written to the journal."),
    Metric("journal_groups_total", COUNTER, "Groups of entries, each made durable by one sync or one transaction."),
    Metric("journal_sync_seconds", HISTOGRAM, "Duration of a sync of the journal file.", (), SYNC_S),
    Metric("journal_waiting_bytes", GAUGE, "Bytes that wait to be written to the journal."),
    Metric("journal_waiting_limit_bytes", GAUGE, "Bytes that may wait; above, posts are refused with network.busy."),
    Metric("journal_head_entry", GAUGE, "Number of the last durable journal entry."),
    # index and disk
    Metric("index_entry", GAUGE, "Number of the last entry that the index has applied."),
    Metric(
        "index_behind_seconds", GAUGE, "Age of the oldest entry that the index has not applied; 0 if it is current."
    ),
    Metric("index_rebuilds_total", COUNTER, "Rebuilds of the index since the start of this process.", is_detail=True),
    Metric("disk_free_bytes", GAUGE, "Free bytes on the disk of the journal."),
    Metric("disk_least_free_bytes", GAUGE, "Bytes that must stay free; below, posts are refused with storage.full."),
    # deliveries
    Metric("waiting_deliveries", GAUGE, "Deliveries that wait for a receiver and are not leased.", (MODE,)),
    Metric("leased_deliveries", GAUGE, "Deliveries that are handed out and not settled yet.", (MODE,)),
    Metric("oldest_waiting_seconds", GAUGE, "Age of the oldest delivery that has not ended; 0 if there is none."),
    Metric(
        "top_waiting_deliveries",
        GAUGE,
        "Deliveries that have not ended, of the services with the most of them (setting metrics_services).",
        (Label("service", most=1_000),),
    ),
    Metric("deliveries_total", COUNTER, "Deliveries queued for a service."),
    Metric("handed_out_total", COUNTER, "Hand-outs of deliveries to receivers, by how they receive.", (MODE,)),
    Metric("redeliveries_total", COUNTER, "Hand-outs of deliveries that had been handed out before.", (MODE,)),
    Metric(
        "returned_deliveries_total",
        COUNTER,
        "Deliveries that receivers gave back, or whose push failed.",
        (Label("how", ("returned", "push")),),
        is_detail=True,
    ),
    Metric(
        "first_handout_seconds",
        HISTOGRAM,
        "Time from the post of a message to its first hand-out; present: whether the receiver was already polling.",
        (Label("present", ("no", "yes")),),
        WAIT_S,
    ),
    Metric("delivery_seconds", HISTOGRAM, "Time from the post of a message to its acknowledgment.", (), WAIT_S),
    Metric(
        "deliveries_ended_total",
        COUNTER,
        "Ended deliveries by state.",
        (Label("state", ("delivered", "expired", "cancelled", "failed", "rejected")),),
    ),
    Metric("long_polls", GAUGE, "Polls that wait for a delivery."),
    Metric("dead_letters", GAUGE, "Dead letters that no one has dealt with."),
    Metric(
        "dead_letters_total",
        COUNTER,
        "New dead letters by cause: the first part of the reason's code.",
        (Label("cause", ("push", "as2", "delivery", "service", "route", "batch", "body", OTHER)),),
    ),
    Metric(
        "ends_late_seconds", GAUGE, "Time since the oldest expiry that is due and not carried out; 0 if there is none."
    ),
    # pushes
    Metric(
        "push_attempts_total",
        COUNTER,
        "Push attempts by result.",
        (Label("result", ("ok", "refused", "timeout", "connect", "tls", "dns", "forbidden", OTHER)),),
    ),
    Metric("push_seconds", HISTOGRAM, "Duration of a push attempt.", (SPEED,), CALL_S),
    Metric("push_slots_used", GAUGE, "Pushes in progress.", (SPEED,)),
    Metric("push_slots", GAUGE, "Pushes that may be in progress.", (SPEED,)),
    Metric("push_services_paused", GAUGE, "Services whose pushes are paused after failures."),
    Metric("push_services_disabled_total", COUNTER, "Services switched to polling because pushes failed for days."),
    # routing and engines
    Metric(
        "route_seconds",
        HISTOGRAM,
        "Duration of routing posts with expensive rules in a thread, including the wait for the thread.",
        (),
        WORK_S,
    ),
    Metric("rules_tried_total", COUNTER, "Rules tried to route posts, responses and messages on their way."),
    Metric("engine_calls_total", COUNTER, "Calls of a worker engine.", (ENGINE,)),
    Metric("engine_seconds", HISTOGRAM, "Duration of a call, with the wait for a worker.", (ENGINE,), WORK_S),
    Metric("engine_workers", GAUGE, "Worker processes.", (ENGINE,)),
    Metric(
        "engine_kills_total",
        COUNTER,
        "Workers that were killed during a call: because of time, memory, output, or from outside.",
        (ENGINE, Label("cause", ("deadline", "memory", "output", "outside", OTHER))),
    ),
    # batches and AS2
    Metric(
        "batches",
        GAUGE,
        "Batches that have not ended.",
        (Label("state", ("open", "closed", "assembled", "suspended")),),
    ),
    Metric(
        "oldest_open_batch_seconds", GAUGE, "Age of the oldest batch that is open, or closed and not yet assembled."
    ),
    Metric(
        "mdns_total",
        COUNTER,
        "MDNs by direction and disposition.",
        (Label("direction", ("sent", "received")), Label("disposition", ("processed", "error", "failure"))),
    ),
    Metric(
        "mdns_waiting",
        GAUGE,
        "Messages that this node has sent since its start, and for which the AS2 partner still owes the MDN.",
    ),
    # HTTP and the event loop
    Metric("connections", GAUGE, "Open client connections."),
    Metric("connections_refused_total", COUNTER, "Connections refused because too many were open."),
    Metric("bodies_in_flight_bytes", GAUGE, "Bytes of request bodies in memory."),
    Metric("bodies_in_flight_limit_bytes", GAUGE, "Bytes of bodies in memory above which new ones wait."),
    Metric("posts_waiting_connections", GAUGE, "Connections whose next post waits, unread, for its turn."),
    Metric(
        "memory_used_ratio", GAUGE, "Share of the available memory that the process uses, without worker processes."
    ),
    Metric("memory_limit_ratio", GAUGE, "Share of the memory above which new posts wait (setting memory_most_share)."),
    Metric(
        "http_requests_total",
        COUNTER,
        "HTTP requests by route and class of the status.",
        (ROUTE, Label("class", ("2xx", "3xx", "4xx", "5xx"))),
    ),
    Metric(
        "http_seconds", HISTOGRAM, "Duration of requests to the administration API and the console.", (ROUTE,), WORK_S
    ),
    Metric("loop_lag_seconds", HISTOGRAM, "How late the event loop runs a timer, four times a second.", (), WORK_S),
    # nodes
    Metric("leader", GAUGE, "1 on the node that keeps the index, expires messages and sends batches."),
    Metric("postgres_commit_seconds", HISTOGRAM, "Duration of the transaction of one group.", (), WORK_S),
    Metric("postgres_unavailable_total", COUNTER, "Groups that PostgreSQL could not commit."),
    Metric("directory_version", GAUGE, "Version of the configuration that this node uses."),
    Metric("directory_age_seconds", GAUGE, "Time since this node last read the configuration changes of other nodes."),
    Metric(
        "certificate_expires_timestamp_seconds",
        GAUGE,
        "First expiry of a certificate or key of this kind (Unix time); without expired credentials.",
        (Label("what", ("server", "push", "as2", "credential")),),
    ),
    Metric(
        "build_info",
        INFO,
        "The running version, and the level of the network's data formats.",
        (Label("version", most=1), Label("python", most=1), Label("level", most=1)),
        is_detail=True,
    ),
    # backups, notifications and traces
    Metric(
        "backup_last_success_timestamp_seconds",
        GAUGE,
        "Time of the last successful backup (Unix time); absent if there was none.",
    ),
    Metric(
        "backup_first_success_timestamp_seconds",
        GAUGE,
        "Time of the first successful backup (Unix time); absent if there was none.",
    ),
    Metric("backup_entry", GAUGE, "Number of the last entry in the last backup; absent if there was none."),
    Metric(
        "verify_last_success_timestamp_seconds",
        GAUGE,
        "Time of the last successful verification of a backup (Unix time); absent if there was none.",
    ),
    Metric(
        "notifications_total",
        COUNTER,
        "Attempts to send a notification by channel and result, on the leader.",
        (CHANNEL, Label("result", ("sent", "failed"))),
    ),
    Metric(
        "notifications_waiting",
        GAUGE,
        "Notifications that could not be sent and are retried, on the leader.",
        (CHANNEL,),
    ),
    Metric(
        "trace_spans_total",
        COUNTER,
        "Spans that were exported, or skipped because the collector was unavailable for too long or rejected them.",
        (Label("result", ("exported", "skipped")),),
    ),
    Metric("traces_skipped_total", COUNTER, "Traces that were skipped above traces_per_s."),
    Metric(
        "traces_behind_seconds",
        GAUGE,
        "Age of the oldest entry that has not been read for traces; 0 if there is none.",
    ),
    # the scrape itself, and the process
    Metric("scrape_seconds", GAUGE, "Duration of computing the gauges of this page.", is_detail=True),
    Metric("scrape_errors_total", COUNTER, "Gauges that could not be computed in time; they keep their last value."),
    Metric("process_cpu_seconds_total", COUNTER, "User and system CPU time, without worker processes."),
    Metric("process_resident_memory_bytes", GAUGE, "Resident memory, without worker processes."),
    Metric("process_virtual_memory_bytes", GAUGE, "Virtual memory.", is_detail=True),
    Metric("process_start_time_seconds", GAUGE, "Start of the process (Unix time)."),
    Metric("process_open_fds", GAUGE, "Open file descriptors."),
    Metric("process_max_fds", GAUGE, "Maximum number of open file descriptors."),
)
