"""A small Hedera on your own machine: mirror node and consensus node."""

__version__ = "0.2.0"
