"""The contract of journals: what every ``Journal`` must do, as tests."""
