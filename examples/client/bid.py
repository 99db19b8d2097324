"""Offer HBAR for an NFT, and follow its events: the bytes are checked before they are signed.

The cursor of the events is kept in a file: the next run goes on where this one ended. Beside ``make run``, in
the clone:

    . instance/sandbox.env
    .venv/bin/python examples/client/bid.py "$MARKET" "$TOKEN" 0.0.5001 7 20
"""

import base64
import sys
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urljoin

import requests
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList
from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID, TokenID, TransactionID
from hiero_sdk_python.hapi.services.crypto_transfer_pb2 import CryptoTransferTransactionBody
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

TINYBARS = 10**8
MAX_FEE = 10 * TINYBARS
BIDDER, MARKETPLACE = "0.0.2002", "0.0.9001"


def verify_offer(byte_array, bidder, token, serial_no, price, marketplace=MARKETPLACE):
    """Raise ValueError unless these bytes are exactly this offer. They are written again, and compared."""
    found = read_body(byte_array)
    wanted = write_head(found, bidder)
    wanted.scheduleCreate.CopyFrom(found.scheduleCreate)
    schedule = wanted.scheduleCreate
    sale = schedule.scheduledTransactionBody
    schedule.DiscardUnknownFields()
    schedule.payerAccountID.CopyFrom(number(AccountID, bidder))
    schedule.wait_for_expiry = False
    memo = f"Offer of {price} HBAR for {token} and Serial Number {serial_no}"
    transfer = write_sale(sale.cryptoTransfer, bidder, token, serial_no, price, marketplace)
    sale.ClearField("data")
    sale.cryptoTransfer.CopyFrom(transfer)
    sale.ClearField("max_custom_fees")
    memos = {text.partition(" on ")[0] for text in (found.memo, schedule.memo, sale.memo)}
    if found != wanted or memos != {memo} or not 0 < sale.transactionFee <= MAX_FEE:
        raise ValueError("This is another offer. Do not sign it")


def verify_purchase(byte_array, buyer, token, serial_no, price, marketplace=MARKETPLACE):
    """Raise ValueError unless these bytes are exactly this purchase, which the marketplace pays for."""
    found = read_body(byte_array)
    wanted = write_head(found, marketplace)
    sale = found.cryptoTransfer
    transfer = write_sale(sale, buyer, token, serial_no, price, marketplace, is_approval=True)
    wanted.cryptoTransfer.CopyFrom(transfer)
    memo = f"Buying NFT with {token} and Serial Number {serial_no} for {price} HBAR"
    if found != wanted or found.memo.partition(" on ")[0] != memo:
        raise ValueError("This is another purchase. Do not sign it")


def read_body(byte_array):
    [transaction] = TransactionList.FromString(base64.b64decode(byte_array)).transaction_list
    signed = SignedTransaction.FromString(transaction.signedTransactionBytes)
    return TransactionBody.FromString(signed.bodyBytes)


def write_head(found, payer):
    """All of a transaction but what it does, for this payer."""
    start = found.transactionID.transactionValidStart
    return TransactionBody(
        transactionID=TransactionID(
            accountID=number(AccountID, payer), transactionValidStart=start
        ),
        nodeAccountID=found.nodeAccountID,
        transactionFee=min(found.transactionFee, MAX_FEE),
        transactionValidDuration=found.transactionValidDuration,
        memo=found.memo,
    )


def write_sale(found, buyer, token, serial_no, price, marketplace, **how):
    """The sale by whoever owns the NFT. The marketplace keeps what these bytes say, up to the price."""
    moved = [each for row in found.tokenTransfers for each in row.nftTransfers]
    owner = f"0.0.{moved[0].senderAccountID.accountNum}" if moved else buyer
    paid = {row.accountID.accountNum: row.amount for row in found.transfers.accountAmounts}
    part = paid.get(int(marketplace.split(".")[2]), 0)
    if owner == buyer or not 0 <= part <= price * TINYBARS:
        raise ValueError("This is no sale to you. Do not sign it")
    amounts = Counter({buyer: -price * TINYBARS})
    amounts[marketplace] += part
    amounts[owner] += price * TINYBARS - part
    sale = CryptoTransferTransactionBody()
    for account in sorted(filter(amounts.get, amounts), key=lambda name: int(name.split(".")[2])):
        row = sale.transfers.accountAmounts.add(amount=amounts[account])
        row.accountID.CopyFrom(number(AccountID, account))
    nfts = sale.tokenTransfers.add(token=number(TokenID, token)).nftTransfers
    sides = {"senderAccountID": owner, "receiverAccountID": buyer}
    sides = {name: number(AccountID, account) for name, account in sides.items()}
    nfts.add(serialNumber=serial_no, **sides, **how)
    return sale


def number(kind, entity_id):
    name = "tokenNum" if kind is TokenID else "accountNum"
    return kind(**{name: int(entity_id.split(".")[2])})


def follow(ask, path, file):
    """Print a page of events, those after the cursor in the file, and write the new one."""
    after = f"after={file.read_text()}" if file.exists() else ""
    r = ask(f"{path}?{after}")
    for event in r.json():
        print(event["kind"], event["price"], flush=True)
    file.write_text(r.links["next"]["url"].partition("after=")[2].partition("&")[0])
    return len(r.json())


if __name__ == "__main__":
    market, access_token, token, serial_no, price = sys.argv[1:]
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {access_token}"

    def ask(path, body=None):
        r = session.request("POST" if body else "GET", urljoin(market, path), json=body, timeout=30)
        if not r.ok:
            raise SystemExit(r.json()["message"])
        return r

    nft = {"accountId": BIDDER, "tokenId": token, "serialNo": int(serial_no)}
    prepared = ask("v1/offer/extwallet", nft | {"offerPrice": int(price)}).json()
    verify_offer(prepared["byteArray"], BIDDER, token, int(serial_no), int(price))
    unsigned = {"accountId": BIDDER, "transaction": prepared["byteArray"]}
    signed = ask("sandbox/sign", unsigned).json()
    report = nft | {"transactionId": ask("sandbox/transactions", signed).json()["transactionId"]}
    while (r := ask("v1/comingsoon", report)).status_code == 202:  # not visible yet
        time.sleep(int(r.headers["Retry-After"]))
    print(r.json())
    while follow(ask, f"v1/nft/{token}/{serial_no}/events", Path("events.cursor")):
        pass
