"""Authentication, throttling and the rate limit of registrations."""
