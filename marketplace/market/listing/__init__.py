"""Listing NFTs and withdrawing them; what all prepared transactions share, and how they are reported."""
