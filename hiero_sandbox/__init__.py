"""A small Hedera on your own machine: mirror node, consensus nodes, IPFS gateway, wallet.

This file imports nothing, so that a process may import the gateway alone, without HAPI and the SDK.
"""
