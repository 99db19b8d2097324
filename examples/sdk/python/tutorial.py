"""From nothing to a sold NFT of one's own collection, with hiero-sdk-python as it is.

Beside ``make run``, in the clone:

    . instance/sandbox.env
    .venv/bin/python examples/sdk/python/tutorial.py

MARKET says where the service is, NODE where its node listens.
"""

import base64
import os
import random
import time

import requests
from hiero_sdk_python import (
    AccountCreateTransaction,
    AccountId,
    Client,
    CustomFixedFee,
    CustomRoyaltyFee,
    Hbar,
    NftId,
    PrivateKey,
    ResponseCode,
    SupplyType,
    TokenAssociateTransaction,
    TokenCreateTransaction,
    TokenMintTransaction,
    TokenType,
    Transaction,
    TransferTransaction,
)

try:
    MARKET, NODE, TOKEN = (os.environ[name] for name in ("MARKET", "NODE", "TOKEN"))
except KeyError as missing:
    raise SystemExit(
        f"{missing} is not set. In the clone, while make run serves: . instance/sandbox.env"
    ) from None


def call(path, body=None):
    """Ask the service for something; the mirror node is below /sandbox/api/v1."""
    method = "POST" if body else "GET"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    response = requests.request(method, f"{MARKET}{path}", json=body, headers=headers, timeout=30)
    if not response.ok:
        raise SystemExit(f"{path}: {response.text}")
    return response.json()


def balance(account_id):
    """How many HBAR an account has, as the mirror node tells it."""
    account = call(f"/sandbox/api/v1/accounts/{account_id}?transactions=false")
    return account["balance"]["balance"] / 100_000_000


# In the sandbox an account that nobody has used has 10,000 HBAR, and takes the first key that signs for it.
operator_id = AccountId.from_string(f"0.0.{random.randrange(100_000, 1_000_000)}")
operator_key = PrivateKey.generate_ed25519()
client = Client.for_network({NODE: AccountId.from_string("0.0.3")})
client.set_operator(operator_id, operator_key)


def execute(what, transaction, *keys):
    """Sign with the operator's key and others, submit, and wait for the receipt."""
    transaction.freeze_with(client)
    for key in keys:
        transaction.sign(key)
    receipt = transaction.execute(client)
    status = ResponseCode(receipt.status).name
    if status != "SUCCESS":
        raise SystemExit(f"{what}: {status}. Is {NODE} the node of {MARKET}?")
    return receipt


def create_account(key, hbar):
    creation = AccountCreateTransaction().set_key_without_alias(key.public_key())
    creation.set_initial_balance(Hbar(hbar)).set_max_automatic_token_associations(0)
    return execute("Account", creation).account_id


artist_key, first_key = PrivateKey.generate_ed25519(), PrivateKey.generate_ecdsa()
buyer_key = PrivateKey.generate_ed25519()
artist, first = create_account(artist_key, 100), create_account(first_key, 500)
buyer = create_account(buyer_key, 500)
print(f"Accounts: {artist} made it, {first} buys first, {buyer} buys last")

royalty = CustomRoyaltyFee(
    numerator=5,
    denominator=100,
    fallback_fee=CustomFixedFee().set_hbar_amount(Hbar(1)),
    fee_collector_account_id=artist,
)
creation = (
    TokenCreateTransaction()
    .set_token_name("Cats of my own")
    .set_token_symbol("CAT")
    .set_token_type(TokenType.NON_FUNGIBLE_UNIQUE)
    .set_supply_type(SupplyType.FINITE)
    .set_initial_supply(0)
    .set_max_supply(5)
    .set_treasury_account_id(artist)
    .set_admin_key(artist_key)
    .set_supply_key(artist_key)
    .set_custom_fees([royalty])
)
creation.transaction_fee = Hbar(40).to_tinybars()
token = execute("Collection", creation, artist_key).token_id
print(f"Collection {token}, with a royalty of 5 %")

metadata = [f"ipfs://bafkqacbqfyyc4nzqgayq/{number}.json".encode() for number in range(1, 6)]
minted = execute("Minted", TokenMintTransaction(token, metadata=metadata), artist_key)
print(f"Minted: {minted.serial_numbers}")

for account_id, key in ((first, first_key), (buyer, buyer_key)):
    execute("Associated", TokenAssociateTransaction(account_id, [token]), key)

# The treasury owes no royalties.
nft = NftId(token, 1)
sale = TransferTransaction().add_nft_transfer(nft, artist, first)
sale.add_hbar_transfer(first, Hbar(-100)).add_hbar_transfer(artist, Hbar(100))
execute("Sold", sale, artist_key, first_key)
print(f"Sold #1 for 100 HBAR: the artist has {balance(artist):g}")


def complete(what, path, account_id, key, **fields):
    """Sign what the marketplace has prepared.

    A purchase is handed in, because the marketplace signs it last; a listing is submitted.
    """
    body = {"accountId": str(account_id), "tokenId": str(token), "serialNo": 1} | fields
    prepared = call(path, body)
    signed = Transaction.from_bytes(base64.b64decode(prepared["byteArray"])).sign(key)
    if prepared["metadata"]["returnTransaction"]:
        encoded = base64.b64encode(signed.to_bytes()).decode()
        call("/v1/comingsoon", body | {"signedTransaction": encoded})
        return
    with_key = Client.for_network({NODE: AccountId.from_string("0.0.3")})
    with_key.set_operator(account_id, key)
    receipt = signed.execute(with_key)
    with_key.close()
    status = ResponseCode(receipt.status).name
    if status != "SUCCESS":
        raise SystemExit(f"{what}: {status}")


def wait_for(is_for_sale):
    for _ in range(100):
        if call(f"/v1/nft/{token}/1")["isForSale"] == is_for_sale:
            return
        time.sleep(0.2)
    raise SystemExit(f"The order book does not follow: is {NODE} the node of {MARKET}?")


call("/v1/add", {"accountId": str(first), "tokenId": str(token), "serialNo": 1})
complete("Listed", "/v1/list/extwallet", first, first_key, listingPrice=200)
wait_for(True)
print("Listed #1 for 200 HBAR")
complete("Bought", "/v1/buy/extwallet", buyer, buyer_key)
wait_for(False)
print(f"Bought #1: the artist has {balance(artist):g}, the buyer {balance(buyer):g}")

history = call(f"/sandbox/api/v1/tokens/{token}/nfts/1/transactions?order=asc")["transactions"]
print("Its history: " + ", ".join(event["type"] for event in history))
client.close()
