"""From an admitted message to its itinerary: pure functions over the message and one snapshot of the directory."""
