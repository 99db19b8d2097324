"""The HTTP API: a blueprint for each group of endpoints, their schemas, and middleware."""
