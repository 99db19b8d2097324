"""Examples for the OpenAPI document: the real bytes of a listing, prepared and signed."""

from hiero_sandbox import wallet
from marketplace.hedera.ids import TransactionId
from marketplace.hedera.transactions import build_listing
from marketplace.market.memos import listing_memo

# The sample lists this NFT. The transaction has expired: to submit it gives TRANSACTION_EXPIRED.
OWNER, TOKEN, SERIAL_NO = "0.0.1001", "0.0.5001", 7
TRANSACTION_ID = TransactionId(OWNER, 1_763_640_000, 123_456_789)
# The example that moves an NFT uses this one, which no other example uses.
OTHER_COLLECTION = "0.0.6001"

PREPARED = build_listing(
    transaction_id=TRANSACTION_ID,
    token=TOKEN,
    serial_no=SERIAL_NO,
    spender="0.0.9001",
    memo=listing_memo(TOKEN, SERIAL_NO, 250, "NFT Marketplace"),
    max_fee_tinybars=500_000_000,
    valid_seconds=180,
    node_account_id="0.0.3",
)
SIGNED = wallet.sign(OWNER, PREPARED)
