"""What people do on the sandbox's ledger, behind the service's back."""

import base64

from harness import wallets
from harness.cast import ALICE, BOB, TOKEN
from hiero_sandbox import conditions, node
from hiero_sandbox import database as ledger_database
from hiero_sandbox.ledger import accounts
from marketplace.sandbox import wallet
from marketplace.sandbox.world import hand_over, mint
from marketplace.services import KEY, services


class Ledger:
    """What people do on the sandbox's ledger, behind the service's back."""

    def __init__(self, app):
        """``app`` is a service with a sandbox, or a sandbox alone."""
        self.sandbox = services(app).sandbox.app if KEY in app.extensions else app

    def sign(self, byte_array, account_id=ALICE):
        return self.sign_bytes(base64.b64decode(byte_array), account_id)

    def sign_bytes(self, content, account_id=ALICE):
        return wallet.sign(account_id, content)

    def submit(self, content, now=None):
        with self.sandbox.app_context():
            return node.submit(content, now or conditions.now())

    def sign_and_submit(self, byte_array, account_id=ALICE):
        receipt = self.submit(self.sign(byte_array, account_id))
        assert receipt.result == "SUCCESS", receipt.result
        return receipt.transaction_id

    def mint(self, nft, owner, then):
        with self.sandbox.app_context():
            mint(*nft, owner, then)

    def submit_altered(self, byte_array, memo=None, transfer_to=None):
        """Submit another transaction of Alice's under the id of a prepared one."""
        body = wallets.body_of(base64.b64decode(byte_array))
        if memo is not None:
            body.memo = memo
        if transfer_to is not None:
            [approval] = body.cryptoApproveAllowance.nftAllowances
            moved = body.cryptoTransfer.tokenTransfers.add(token=approval.tokenId)
            receiver = wallets.account(transfer_to)
            moved.nftTransfers.add(
                senderAccountID=approval.owner, receiverAccountID=receiver, serialNumber=7
            )
        receipt = self.submit(self.sign_bytes(wallets.seal(body)))
        assert receipt.result == "SUCCESS", receipt.result

    def approve(self, nft, owner, spender, memo=""):
        """An approval that was not prepared here, as another application would make it."""
        self._execute(wallets.approval(owner, nft, spender, memo), owner)

    def withdraw(self, nft, owner):
        self._execute(wallets.withdrawal(owner, nft), owner)

    def _execute(self, body, payer):
        result = self.submit(self.sign_bytes(wallets.seal(body), payer)).result
        assert result == "SUCCESS", result

    def balance(self, account_id):
        """An account's tinybars."""
        with self.sandbox.app_context():
            return accounts.balance(ledger_database.read(), account_id)

    def change_account(self, account_id, **fields):
        with self.sandbox.app_context(), ledger_database.write() as db:
            accounts.change(db, account_id, conditions.now(), **fields)

    def hand_over(self, nft, account_id=BOB):
        with self.sandbox.app_context():
            return hand_over(*nft, account_id, conditions.now())

    def update_metadata(self, nft, metadata=None):
        with self.sandbox.app_context():
            return wallets.update_metadata(*nft, conditions.now(), metadata)

    def delete_token(self, token=TOKEN):
        with self.sandbox.app_context():
            return wallets.delete_token(token, conditions.now())
