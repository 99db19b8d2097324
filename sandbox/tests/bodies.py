"""Transactions of a few words, for tests of what the ledger makes of them."""

from hiero_sdk_python.hapi.services.basic_types_pb2 import TokenID
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody

from hiero_sandbox import messages, times
from hiero_sandbox.ids import TransactionId
from hiero_sandbox.ledger import envelopes
from hiero_sandbox.messages import account
from sandbox.tests.people import TOKEN, private_key
from sandbox.tests.world import HBAR, TREASURY

FIRST = 10_000 * HBAR  # which every account begins with
NFT = (TOKEN, 7)
MINTED_AT = 1_700_000_000 * times.SECOND


def token_id(nft) -> TokenID:
    return messages.token(nft[0])


def give_new_id(body: TransactionBody, payer: str) -> None:
    body.transactionID.accountID.CopyFrom(account(payer))
    began = messages.timestamp(times.now() - times.SECOND)
    body.transactionID.transactionValidStart.CopyFrom(began)


def new_body(payer: str, memo: str = "") -> TransactionBody:
    body = TransactionBody(memo=memo, transactionFee=5 * HBAR, nodeAccountID=account("0.0.3"))
    body.transactionValidDuration.seconds = 120
    give_new_id(body, payer)
    return body


def seal(body: TransactionBody) -> bytes:
    """A transaction that nobody has signed."""
    return sign(body)


def id_of(content: bytes) -> TransactionId:
    return envelopes.open_transaction(envelopes.read_list(content)[0]).id


def sign(body: TransactionBody, *signers) -> bytes:
    """A body with the signatures of accounts, or of keys. SDKs write an empty map, too."""
    content = body.SerializeToString()
    signed = SignedTransaction(bodyBytes=content, sigMap={})
    for signer in signers:
        key = private_key(signer) if isinstance(signer, str) else signer
        field = "ed25519" if key.is_ed25519() else "ECDSA_secp256k1"
        pair = signed.sigMap.sigPair.add(pubKeyPrefix=key.public_key().to_bytes_raw())
        setattr(pair, field, key.sign(content))
    return Transaction(signedTransactionBytes=signed.SerializeToString()).SerializeToString()


def make(payer: str, kind: str, **fields) -> TransactionBody:
    """A transaction of a kind; fields that are messages may be dicts."""
    body = new_body(payer)
    content = getattr(body, kind)
    content.SetInParent()
    content.MergeFrom(type(content)(**fields))
    return body


def amounts(*changes):
    """The amounts of a transfer, each of an account."""
    return [{"accountID": account(account_id), "amount": amount} for account_id, amount in changes]


def transfer(payer: str, hbar=(), nfts=()) -> TransactionBody:
    """HBAR by account, in tinybars; NFTs as (nft, sender, receiver), or with a True by approval."""
    changes = amounts(*dict(hbar).items())
    body = make(payer, "cryptoTransfer", transfers={"accountAmounts": changes})
    for nft, *parties in nfts:
        move(body, nft, *parties)
    return body


def move(body: TransactionBody, nft, sender: str, receiver: str, is_approval=False) -> None:
    token = token_id(nft)
    for transfers in body.cryptoTransfer.tokenTransfers:
        if transfers.token == token:
            break
    else:
        transfers = body.cryptoTransfer.tokenTransfers.add(token=token)
    transfers.nftTransfers.add(
        senderAccountID=account(sender),
        receiverAccountID=account(receiver),
        serialNumber=nft[1],
        is_approval=is_approval,
    )


def allow(approvals, nft, owner: str, spender: str) -> None:
    """Add an entry that approves an NFT."""
    entry = {"owner": account(owner), "spender": account(spender), "serial_numbers": [nft[1]]}
    approvals.nftAllowances.add(tokenId=token_id(nft), **entry)


def withdrawal(owner: str, nft) -> TransactionBody:
    removed = {"token_id": token_id(nft), "owner": account(owner), "serial_numbers": [nft[1]]}
    return make(owner, "cryptoDeleteAllowance", nftAllowances=[removed])


def about_treasurys(kind: str, token: str, account_id: str | None = None, **fields) -> bytes:
    """What the treasury of the world's tokens does, signed."""
    if account_id:
        fields["account"] = account(account_id)
    return sign(make(TREASURY, kind, token=token_id((token, 0)), **fields), TREASURY)


def approval(
    payer: str, *nfts, spender="0.0.9001", owner: str | None = None, memo=""
) -> TransactionBody:
    body = new_body(payer, memo)
    body.transactionFee *= max(1, len(nfts))
    for nft in nfts or [NFT]:
        allow(body.cryptoApproveAllowance, nft, owner or payer, spender)
    return body


def association(account_id: str, *tokens: str, kind="tokenAssociate") -> TransactionBody:
    asked = [token_id((token, 0)) for token in tokens]
    return make(account_id, kind, account=account(account_id), tokens=asked)


def minting(payer: str, token: str, *metadata: bytes) -> TransactionBody:
    return make(payer, "tokenMint", token=token_id((token, 0)), metadata=metadata)


def rejection(payer, *rejected, owner=None):
    """NFTs, or tokens of which all units are rejected."""
    rejections = [
        {"fungible_token": token_id((each, 0))}
        if isinstance(each, str)
        else {"nft": {"token_ID": token_id(each), "serial_number": each[1]}}
        for each in rejected
    ]
    return make(payer, "tokenReject", rejections=rejections, owner=owner and account(owner))
