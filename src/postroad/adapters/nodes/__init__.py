"""The nodes of a network: which processes serve it, and which network level each of them can read."""
