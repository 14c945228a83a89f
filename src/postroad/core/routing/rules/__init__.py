"""Rules: checked when saved, evaluated when a message is posted, reached or answered."""
