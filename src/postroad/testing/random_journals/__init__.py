"""Random journals for property tests: consistent entries, drawn by hypothesis."""
