"""Somebody at the API, beside the browser: lists NFTs, changes their price, withdraws and buys them."""

import json
import urllib.request


class Trader:
    def __init__(self, market):
        self.url, folder = market
        token = (folder / "instance" / "sandbox-token").read_text().strip()
        self.headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}

    def call(self, path, body=None):
        content = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, content, self.headers)
        return json.load(urllib.request.urlopen(request, timeout=60))

    def list(self, nft, seller, price):
        keys = {"accountId": seller, "tokenId": nft[0], "serialNo": nft[1]}
        self.call("/v1/add", keys)
        self._settle(keys, self.call("/v1/list/extwallet", keys | {"listingPrice": price}))

    def withdraw(self, nft, seller):
        keys = {"accountId": seller, "tokenId": nft[0], "serialNo": nft[1]}
        self._settle(keys, self.call("/v1/delist/extwallet", keys))

    def buy(self, nft, buyer):
        keys = {"accountId": buyer, "tokenId": nft[0], "serialNo": nft[1]}
        self._settle(keys, self.call("/v1/buy/extwallet", keys))

    def _settle(self, keys, prepared):
        seller = keys["accountId"]
        order = {"accountId": seller, "transaction": prepared["byteArray"]}
        receipt = self.call("/sandbox/transactions", self.call("/sandbox/sign", order))
        assert receipt["result"] == "SUCCESS"
        assert self.call("/v1/comingsoon", keys) == {"result": "OK"}
