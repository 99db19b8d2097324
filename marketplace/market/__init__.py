"""The market: listing, withdrawing and buying NFTs, by the rule of a listing. No HTTP, no SQL text."""
