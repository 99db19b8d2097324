"""What a client sees: a blueprint for each group of endpoints, and all that speaks HTTP."""
