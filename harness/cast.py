"""A fixed cast: Alice sells, Bob buys, Charlie must be refused."""

ALICE, BOB, CHARLIE = "0.0.1001", "0.0.1002", "0.0.1003"
MARKET = "0.0.9001"  # the marketplace's account
TOKEN = "0.0.7001"
KEYS = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
TESTNET = {"NETWORK": "testnet", "ACCOUNT_ID": MARKET}
SHOP = {"STOREFRONT": "on", "WALLETCONNECT_PROJECT_ID": "shop"}
