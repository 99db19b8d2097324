"""Offers: the bidder's own schedules of a sale, which the NFT's owner accepts by signing them."""
