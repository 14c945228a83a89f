"""XSLT and XQuery in confined processes (``adapters.confined``): ``workers.SaxonWorkers`` is the door.

In the process, ``worker_main`` lets the *engine* do the work. Queries of exchanges come in *batches* about one message
(``queries.SaxonQueries`` is their door): ``query_engine`` makes functions of their texts (``query_text``), runs them, and has the
engine say what each result means (``verdicts``).
"""
