"""The sandbox's own small ledger: what is submitted to it, what it checks, charges, does and remembers."""
