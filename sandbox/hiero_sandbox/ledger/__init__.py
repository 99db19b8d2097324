"""The sandbox's own small ledger: it checks, charges, executes and records transactions."""
