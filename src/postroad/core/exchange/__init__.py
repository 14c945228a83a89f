"""Exchanges: route messages by content to every queue whose query matches, testing all queries at once.

    Matcher            bind(key, query, routing_key=…, always=…) · unbind(key) · match(message) -> MatchResult · explain(key)
    MatchableMessage   headers, content, root or json: what a matcher needs of a message
    MatchResult        decided: the keys that match by the tree · candidates: those for the engine to evaluate
    QueryDecision      what is known about a query before any message arrives
    EvaluationMode     shared, prefiltered or always evaluated by the engine

A query is parsed (``query``), analysed and written as conjunctions of literals over slots (``compile``), and put into a tree
(``match.tree``, ``match.groups``). Queries that differ only in constants share all of that except their position
(``match.query_plans``). A message is read once (``match.extraction`` for XML, ``match.lookups`` for JSON), and its values
(``match.message_facts``) select paths of the tree. Unsupported queries are left to the engine, behind a condition that every
match must satisfy.

Rules: the result is that of evaluating each query alone; where XQuery lets an engine either raise an error or not, both are
correct. A header item that a message does not have is the empty sequence.
"""
