"""Offers: made, signed, accepted and withdrawn as schedules of the ledger."""
