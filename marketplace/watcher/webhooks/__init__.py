"""Webhooks: each event is posted to the addresses that the operator added."""
