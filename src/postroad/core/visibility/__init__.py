"""What each viewer may see of messages, histories, dead letters, batches and explanations, and under which pseudonyms."""
