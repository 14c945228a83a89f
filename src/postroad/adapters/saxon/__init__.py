"""XSLT and XQuery in confined processes (``adapters.confined``), used through ``workers.SaxonWorkers``.

In the process, ``engine`` answers the calls. Queries of exchanges come in *batches* about one message, through
``queries.SaxonQueries``: ``query_engine`` makes functions of their texts (``query_text``), runs them, and lets the
engine classify each result (``result_queries``).
"""
