"""The second process: it follows the ledger, enriches, refreshes and settles. It alone meets strangers."""
