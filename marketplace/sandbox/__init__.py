"""The one place that reaches hiero_sandbox: how the service is served with a ledger of its own.

No service on a real network imports it.
"""
