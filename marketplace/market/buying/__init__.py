"""Buying NFTs: prepared unsigned, handed in signed by the buyer, and only then signed by us and submitted."""
