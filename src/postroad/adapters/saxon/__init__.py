"""XSLT and XQuery in processes that can be killed and can reach nothing: ``workers.SaxonWorkers`` is the door.

Words: the *pool* (``pool``) hands each call to a *worker* (``worker``, the server's end of one process). In the process,
``worker_main`` reads *work*, lets the *engine* do it, and writes an *outcome*. Before any work the process is *confined*
(``confinement``). A source that keeps getting workers killed sits in the *penalty box* (``penalties``).

Queries of exchanges come in *batches* about one message (``queries.SaxonQueries`` is their door, ``asking`` finds out which
one of a batch is to blame). In the process, ``query_engine`` makes functions of their texts (``query_text``), runs them, and
has the engine say what each result means (``verdicts``).

Pool, worker, frames, confinement, penalties and asking know nothing of Saxon; other engines (``adapters.scripts``) use them too.
"""
