"""Benchmarks of the service. They print figures, and are not tests."""
