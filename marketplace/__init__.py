"""The NFT Marketplace Service: an index of a ledger that answers fast and prepares what a wallet signs."""

__version__ = "0.1.0"
