"""List an NFT, have the sandbox's demo wallet sign it, report it, and follow the events until Ctrl-C.

Beside ``make run``, in the clone:

    . instance/sandbox.env
    .venv/bin/python examples/client/client.py "$MARKET" "$TOKEN"
"""

import sys
import time
from contextlib import suppress
from urllib.parse import urljoin

import requests


def ask(path, body=None):
    r = session.request("POST" if body else "GET", urljoin(market, path), json=body, timeout=30)
    if not r.ok:
        raise SystemExit(r.json()["message"])
    return r


def sign(prepared):
    account = prepared["metadata"]["accountToSign"]
    unsigned = {"accountId": account, "transaction": prepared["byteArray"]}
    signed = ask("sandbox/sign", unsigned).json()
    return ask("sandbox/transactions", signed).json()["transactionId"]


def list_nft(nft, price):
    ask("v1/add", nft)
    prepared = ask("v1/list/extwallet", nft | {"listingPrice": price}).json()
    report = nft | {"transactionId": sign(prepared)}
    while (r := ask("v1/comingsoon", report)).status_code == 202:  # not visible yet
        time.sleep(int(r.headers["Retry-After"]))


def follow(path):
    while True:
        r = ask(path)
        for event in r.json():
            print(event["kind"], event["token"], event["serialNo"], event["price"], flush=True)
        path = r.links["next"]["url"]
        time.sleep(0 if r.json() else 2)


if __name__ == "__main__":
    market, token = sys.argv[1:]
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {token}"
    print("Events as they happen; Ctrl-C ends this", flush=True)
    cursor = ask("v1/orderbook").headers["X-Events-Cursor"]
    list_nft({"accountId": "0.0.2002", "tokenId": "0.0.7007", "serialNo": 8}, price=250)
    with suppress(KeyboardInterrupt):
        follow(f"v1/events?after={cursor}")
