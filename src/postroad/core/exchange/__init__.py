"""Exchanges: route messages by content to every queue whose query matches, testing all queries at once.

    Matcher      bind(key, query, routing_key=…, always=…) -> Binding · unbind(key) · match(incoming) -> Matches · explain(key)
    Incoming     headers, content, root or json: what a matcher needs of a message
    Matches      decided: the keys that the tree says yes to · candidates: those for the engine to evaluate
    Decision     what is known about a query before any message is there; decide(query) makes it
    Standing     shared, prefiltered or always evaluated by the engine

A query is read (``query``), judged (``judging``, ``decision``), written as conjunctions of literals over slots
(``conditions``, ``normal``) and put into a tree (``tree``, ``groups``); queries that differ only in constants share all of that
but their place (``skeletons``, ``plans``). A message is looked at once (``extraction`` for XML, ``lookups`` for JSON) and goes
down the tree with what was found (``facts``). Whatever is not understood is left to the engine behind a condition that must
hold for a yes.

Rules: the answer is that of evaluating each query alone; where XQuery lets an engine either raise an error or not,
either will do. A header item that a message does not have is the empty sequence.
"""
