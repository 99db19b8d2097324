"""Transactions as wallets and issuers build and sign them, without the service."""

from collections.abc import Iterable

from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID, Key, TokenID
from hiero_sdk_python.hapi.services.crypto_approve_allowance_pb2 import NftAllowance
from hiero_sdk_python.hapi.services.crypto_delete_allowance_pb2 import NftRemoveAllowance
from hiero_sdk_python.hapi.services.custom_fees_pb2 import CustomFee
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody

from hiero_sandbox import node
from hiero_sandbox.database import write
from hiero_sandbox.ledger import envelopes, tokens
from hiero_sandbox.ledger.consensus import Receipt
from marketplace.hedera import times
from marketplace.sandbox import wallet
from marketplace.sandbox.catalogue import TREASURY
from marketplace.sandbox.world import TREASURYS_KEY

MINTED_AT = 1_700_000_000 * times.SECOND  # of the NFTs that nobody minted


def account(account_id: str) -> AccountID:
    return AccountID(accountNum=int(account_id.split(".")[2]))


def token_id(nft) -> TokenID:
    return TokenID(tokenNum=int(nft[0].split(".")[2]))


def allow(approvals, nft, owner: str, spender: str, *more: int) -> None:
    """Add an entry that approves an NFT; ``more`` are serial numbers of others in the same entry."""
    allowance = NftAllowance(tokenId=token_id(nft), owner=account(owner), spender=account(spender))
    allowance.serial_numbers.extend([nft[1], *more])
    approvals.nftAllowances.append(allowance)


def new_body(payer: str, memo: str) -> TransactionBody:
    body = TransactionBody(memo=memo, transactionFee=500_000_000, nodeAccountID=account("0.0.3"))
    body.transactionValidDuration.seconds = 120
    give_new_id(body, payer)
    return body


def approval(owner: str, nft, spender: str, memo: str = "") -> TransactionBody:
    body = new_body(owner, memo)
    allow(body.cryptoApproveAllowance, nft, owner, spender)
    return body


def withdrawal(owner: str, nft) -> TransactionBody:
    body = new_body(owner, "")
    removed = NftRemoveAllowance(token_id=token_id(nft), owner=account(owner))
    removed.serial_numbers.append(nft[1])
    body.cryptoDeleteAllowance.nftAllowances.append(removed)
    return body


def give_new_id(body: TransactionBody, payer: str) -> None:
    body.transactionID.accountID.CopyFrom(account(payer))
    start = body.transactionID.transactionValidStart
    start.seconds, start.nanos = divmod(times.now() - times.SECOND, times.SECOND)


def body_of(content: bytes) -> TransactionBody:
    return envelopes.open_transaction(envelopes.read_list(content)[0]).body


def id_of(content: bytes):
    return envelopes.open_transaction(envelopes.read_list(content)[0]).id


def seal(body: TransactionBody) -> bytes:
    signed = SignedTransaction(bodyBytes=body.SerializeToString(), sigMap={})
    return Transaction(signedTransactionBytes=signed.SerializeToString()).SerializeToString()


# What the issuer of a token does: the treasury's key is each of its keys


def _submit(body: TransactionBody, now: int) -> Receipt:
    start = body.transactionID.transactionValidStart
    start.seconds, start.nanos = divmod(now - times.SECOND, times.SECOND)
    return node.submit(wallet.sign(TREASURY, seal(body)), now)


def _new_body() -> TransactionBody:
    return new_body(TREASURY, "")


def update_metadata(token: str, serial_no: int, now: int, metadata: str | None = None) -> Receipt:
    return _submit(metadata_update((token, serial_no), metadata), now)


def metadata_update(nft: tuple[str, int], metadata: str | None = None) -> TransactionBody:
    """An update of an NFT's metadata, to the same ones if none are given. The treasury must sign it."""
    body = _new_body()
    body.token_update_nfts.token.CopyFrom(token_id(nft))
    body.token_update_nfts.serial_numbers.append(nft[1])
    if metadata is not None:
        body.token_update_nfts.metadata.value = metadata.encode()
    return body


def wipe_nft(nft: tuple[str, int], owner: str, now: int) -> Receipt:
    body = _new_body()
    body.tokenWipe.token.CopyFrom(token_id(nft))
    body.tokenWipe.account.CopyFrom(account(owner))
    body.tokenWipe.serialNumbers.append(nft[1])
    return _submit(body, now)


def delete_token(token: str, now: int) -> Receipt:
    body = _new_body()
    body.tokenDeletion.token.CopyFrom(token_id((token, 0)))
    return _submit(body, now)


def change_fees(
    token: str, fees: Iterable[CustomFee], now: int, *, keeps_key: bool = False
) -> Receipt:
    """Give a token other custom fees. ``keeps_key``: whether its issuer can change them again."""
    set_fee_key(token, TREASURYS_KEY)
    body = _new_body()
    body.token_fee_schedule_update.token_id.CopyFrom(token_id((token, 0)))
    body.token_fee_schedule_update.custom_fees.extend(fees)
    receipt = _submit(body, now)
    if not keeps_key:
        set_fee_key(token, Key())
    return receipt


def set_fee_key(token: str, key: Key) -> None:
    """Give a token this key for its custom fees, behind everybody's back."""
    with write() as db:
        found = tokens.find(db, token)
        found.definition.fee_schedule_key.CopyFrom(key)
        tokens.put(db, found)
