"""Commands for messages: post, poll, trace, search, batches, dead letters and formats."""
