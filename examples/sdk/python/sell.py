"""An NFT is listed, withdrawn, listed again and bought, with hiero-sdk-python as it is.

Beside ``make run``, in the clone:

    . instance/sandbox.env
    .venv/bin/python examples/sdk/python/sell.py

MARKET says where the service is, NODE where its node listens.
"""

import base64
import os
import random
import time

import requests
from hiero_sdk_python import (
    AccountAllowanceApproveTransaction,
    AccountAllowanceDeleteTransaction,
    AccountId,
    Client,
    NftId,
    PrivateKey,
    ResponseCode,
    TokenId,
    TokenNftInfoQuery,
    Transaction,
    TransactionRecordQuery,
)

try:
    MARKET, NODE, TOKEN = (os.environ[name] for name in ("MARKET", "NODE", "TOKEN"))
except KeyError as missing:
    raise SystemExit(
        f"{missing} is not set. In the clone, while make run serves: . instance/sandbox.env"
    ) from None
MARKETPLACE = AccountId.from_string("0.0.9001")  # MARKETPLACE_ACCOUNT_ID in the sandbox


def call(path, body=None):
    """Ask the service for something."""
    method = "POST" if body else "GET"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    response = requests.request(method, f"{MARKET}{path}", json=body, headers=headers, timeout=30)
    if not response.ok:
        raise SystemExit(f"{path}: {response.json()['message']}")
    return response.json()


class Account:
    """An account with a key. In the sandbox the first key that signs for an account becomes its key."""

    def __init__(self, key):
        self.id = AccountId.from_string(f"0.0.{random.randrange(100_000, 1_000_000)}")
        self.key = key
        self.client = Client.for_network({NODE: AccountId.from_string("0.0.3")})
        self.client.set_operator(self.id, key)

    def execute_prepared(self, what, path, body):
        """Sign and submit what the service has prepared."""
        content = base64.b64decode(call(path, body)["byteArray"])
        transaction = Transaction.from_bytes(content)
        return self.tell(what, transaction.sign(self.key).execute(self.client))

    def buy(self, body):
        """Sign a purchase, and hand it in: the marketplace signs last, and submits it."""
        content = base64.b64decode(call("/v1/buy/extwallet", body)["byteArray"])
        signed = Transaction.from_bytes(content).sign(self.key).to_bytes()
        signature = {"signedTransaction": base64.b64encode(signed).decode()}
        print(f"Bought: {call('/v1/comingsoon', body | signature)['result']}")

    def execute(self, what, transaction):
        return self.tell(what, transaction.execute(self.client))

    def tell(self, what, receipt):
        status = ResponseCode(receipt.status).name
        if status != "SUCCESS":
            raise SystemExit(f"{what}: {status}. Is {NODE} the node of {MARKET}?")
        record = TransactionRecordQuery(receipt.transaction_id).execute(self.client)
        print(
            f"{what}: {status}, {record.transaction_fee} tinybars of fees, {receipt.transaction_id}"
        )
        return receipt


nft = {"tokenId": "0.0.7100", "serialNo": random.randrange(1, 10**9)}
nft_id = NftId(TokenId.from_string(nft["tokenId"]), nft["serialNo"])


def wait_for(is_for_sale):
    """Nobody reports anything: the service sees by itself what happened on the ledger."""
    for _ in range(100):
        stored = call(f"/v1/nft/{nft['tokenId']}/{nft['serialNo']}")
        if stored["isForSale"] == is_for_sale:
            return stored
        time.sleep(0.2)
    raise SystemExit(f"The order book does not follow: is {NODE} the node of {MARKET}?")


seller, buyer = Account(PrivateKey.generate_ed25519()), Account(PrivateKey.generate_ecdsa())
sellers = {"accountId": str(seller.id), **nft}

call("/v1/add", sellers)
seller.execute_prepared("Listed", "/v1/list/extwallet", sellers | {"listingPrice": 250})
print(f"In the order book for {wait_for(True)['listingPrice']} HBAR")

withdrawal = AccountAllowanceDeleteTransaction().delete_all_token_nft_allowances(nft_id, seller.id)
seller.execute("Withdrawn", withdrawal)
wait_for(False)
print("Not in the order book any more")

# A listing of one's own making: whom it lets spend the NFT, and its memo, are all there is to it.
listing = AccountAllowanceApproveTransaction().approve_token_nft_allowance(
    nft_id, seller.id, MARKETPLACE
)
memo = (
    f"Listing NFT with {nft['tokenId']} and Serial Number {nft['serialNo']} for 199 HBAR on my desk"
)
seller.execute("Listed again", listing.set_transaction_memo(memo))
print(f"In the order book for {wait_for(True)['listingPrice']} HBAR")

buyer.buy({"accountId": str(buyer.id), **nft})
wait_for(False)

owner = TokenNftInfoQuery(nft_id).execute(buyer.client).account_id
print(f"It belongs to {'the buyer' if owner == buyer.id else owner} now")
for who, account in {"Seller": seller, "Buyer": buyer}.items():
    # The networks answer no balance query any more: the mirror node does.
    shown = call(f"/sandbox/api/v1/accounts/{account.id}?transactions=false")
    print(f"{who} has {shown['balance']['balance'] / 100_000_000:.8f} ℏ")
    account.client.close()
