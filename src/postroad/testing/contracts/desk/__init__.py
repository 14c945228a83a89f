"""The contract of desks: what every ``Desk`` must do, as tests."""
