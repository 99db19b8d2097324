"""HAPI, the network's own protocol: the sandbox is one consensus node to every Hedera SDK.

Functions take the bytes of a request and return those of its answer, without a transport. There are two
transports: gRPC in a process of its own (server.py), and gRPC-web on the service's port (web.py).
"""
