"""HAPI, the network's own protocol, as the sandbox's one consensus node speaks it to every Hedera SDK.

Handlers take the bytes of a request and return those of its answer; they know no transport. Two doors lead
to them: gRPC in a process of its own (server.py), and gRPC-web on the service's port (web.py).
"""
