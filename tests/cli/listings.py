"""Listings for a sync to find."""

from harness.cast import KEYS


def prepare(client, price=250):
    return client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": price}).json["byteArray"]
