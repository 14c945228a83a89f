"""The flow: runs each message through its stages, from the post to its end.

A client **posts** bytes, and a codec decodes them to a ``Message``. ``stages/accept`` asks ``core`` whether the message is
admitted and which route it takes, and submits both as one journal entry. The message then waits in the **mailboxes** of the
services on its route. A service **polls**: ``stages/deliver`` leases waiting deliveries and returns them as ``Delivered``;
``push`` posts them to the service's own server instead. The service **acknowledges** (``stages/acknowledge``) or **responds**
(``stages/respond``): a recipient's response is routed to the requester, and an in-transit service's response is the changed
message, which ``stages/advance`` forwards to the next stop. Every event is a journal entry; ``stages/history`` reads them.

For a **send port**, ``batching`` gathers messages into batches, assembles interchanges and follows their outcomes; every change
of a stored batch goes through ``registries/batches``.

A stage is short because ``core`` makes the decisions and the ``Desk`` stores them: a stage turns a decision into a
``JournalStep``, submits it, and answers when the step is committed. The stages are connected only in ``network``, which gives
each the ``Plumbing`` of the network: its desk, journal, index, clock and directory. ``stages/lookup`` finds deliveries by token,
and ``stages/entries`` builds the entry of every message.

From a post to its fsync, with the local desk and the segment journal: calls go down the left column, outcomes return up the
right column as callbacks. Only some posts take the hops in brackets.

    call                                                     callback
 │  api/posts           PostEndpoints._post                  _answer_post: encodes and sends the response       ▲
 │  flow/network        Network.submit                                                                          │
 │  stages/accept       AcceptStage.post, _accept_allowed                                                       │
 │  stages/quota        [Quota.settle_after]                 [settled: ends the pending charge]                 │
 │  stages/accept       AcceptStage._accept                  _done: Committed → PostResult, Conflict → _again   │
 │  stages/accept       [_later(_accept_if_new)]             [_finished: answers if the task failed]            │
 │  concurrency/commit  [commit_step, submit_step]           [a future: resumes _accept_if_new]                 │
 │  desk/local          LocalDesk.submit                                                                        │
 │  desk/group_commit   GroupCommit.submit                   done(outcome), called once for each step           │
 │
 │  The call returns here. The task "group-commit" takes all steps that have arrived as the next group:
 │
 │  desk/group_commit   GroupCommit._run, _commit_group      resumes, and calls done for each step              │
 │  desk/local          LocalDesk._commit, _write, _append   HotState.apply: offers deliveries, wakes pollers   │
 │  segments/journal    SegmentJournal.append, _write        a future: resumes LocalDesk._append                │
 │  segments/journal    SegmentJournal._made_durable         done: moves the head and the durable mark          │
 ▼  segments/syncing    GroupSync.submit, Syncing.file ────▶ fdatasync; a failure ends the process ─────────────┘

A quota adds the hop through ``stages/quota``. An Idempotency-Key, or a handle that the desk cannot check in memory, adds the two
hops below it. A step that settles deliveries, such as a response, adds ``settled`` in ``LocalDesk.submit``, which releases them
if the step fails. The shared desk (``desk/shared``) commits a group as one PostgreSQL transaction instead.
"""
