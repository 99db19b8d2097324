"""Somebody at the API: lists NFTs, changes their price, withdraws and buys them, and makes offers."""


class Trader:
    def __init__(self, service):
        self.call = service.call

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

    def offer(self, nft, bidder, price):
        keys = {"accountId": bidder, "tokenId": nft[0], "serialNo": nft[1]}
        prepared = self.call("/v1/offer/extwallet", keys | {"offerPrice": price})
        keys |= {"transactionId": prepared["metadata"]["transactionId"]}
        return self._settle(keys, prepared)["offerId"]

    def accept(self, offer_id, owner, price):
        keys = {"accountId": owner, "offerId": offer_id}
        prepared = self.call("/v1/acceptoffer/extwallet", keys | {"expectedPrice": price})
        self._settle(keys, prepared)

    def _settle(self, keys, prepared):
        order = {"accountId": keys["accountId"], "transaction": prepared["byteArray"]}
        signed = self.call("/sandbox/sign", order)
        if prepared["metadata"]["returnTransaction"]:
            keys |= {"signedTransaction": signed["transaction"]}
        else:
            assert self.call("/sandbox/transactions", signed)["result"] == "SUCCESS"
        report = self.call("/v1/comingsoon", keys)
        assert report["result"] == "OK"
        return report
