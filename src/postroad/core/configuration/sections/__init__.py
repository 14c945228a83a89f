"""The sections below an organization in a document: what it asks for, what pruning removes, what an export writes."""
