"""The live view: current events from the journal, and what one person may see of them."""
