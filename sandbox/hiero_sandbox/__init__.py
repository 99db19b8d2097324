"""A small Hedera on your own machine: mirror node, consensus node, IPFS gateway, demo wallet.

This file imports nothing, so that a process may import the gateway alone, without HAPI and the SDK.
"""

__version__ = "0.1.0"
