"""Analyses a query when it is bound: the nodes it selects, its condition, and the conjunctions of that condition."""
