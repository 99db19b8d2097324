"""The leaf: Hedera's ids, times, amounts, messages, transactions and signatures. It does no I/O.

The service and the sandbox both use it. It imports nothing of theirs.
"""
