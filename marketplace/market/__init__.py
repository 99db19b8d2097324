"""The market: the rule of a listing, and what follows from it. No HTTP, no SQL text."""
