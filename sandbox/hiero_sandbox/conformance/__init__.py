"""Black-box tests of a Hedera network: the sandbox, or any other by its addresses.

They know a network only by what its node answers over gRPC, and its mirror node over REST. A case is a
function in ``cases/``: its docstring is the rule, its decorator names the rule's source.
"""
