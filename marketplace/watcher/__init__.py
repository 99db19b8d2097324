"""The watcher process: only it follows the ledger, completes NFTs and connects to strangers' hosts."""
