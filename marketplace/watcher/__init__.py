"""The watcher, the second process: it alone follows the ledger, completes NFTs and connects to strangers."""
