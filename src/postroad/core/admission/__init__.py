"""May this sender post this, now, to that? Pure decisions; each refusal has a stable code."""
