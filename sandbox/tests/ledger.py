"""What people do on the ledger."""

from hiero_sandbox import conditions, node
from hiero_sandbox.database import write
from hiero_sandbox.ledger import accounts, nfts, queries
from hiero_sandbox.ledger.nfts import Nft
from hiero_sandbox.versions import set_clock
from sandbox.tests import bodies
from sandbox.tests.bodies import about_treasurys
from sandbox.tests.people import TOKEN


def mint(nft, owner, then):
    """Give an NFT that only the world has to its first owner, as a host may."""
    token, serial_no = nft
    with write() as db:
        set_clock(db, then)
        accounts.associate(db, owner, token, then)
        nfts.put(db, Nft(*nft, owner, None, then, then, db.world.find_metadata(*nft)))
        columns = {"serial_no": serial_no, "consensus_at": then, "owner": owner}
        queries.put(db, "gift", token=token, **columns)


class Ledger:
    def __init__(self, sandbox):
        self.sandbox = sandbox

    def submit(self, content, now=None):
        with self.sandbox.app_context():
            return node.submit(content, now or conditions.now())

    def mint(self, nft, owner, then):
        with self.sandbox.app_context():
            mint(nft, owner, then)

    def approve(self, nft, owner, spender, memo=""):
        self.execute(bodies.approval(owner, nft, spender=spender, memo=memo), owner)

    def withdraw(self, nft, owner):
        self.execute(bodies.withdrawal(owner, nft), owner)

    def execute(self, body, *signers):
        result = self.submit(bodies.sign(body, *signers)).result
        assert result == "SUCCESS", result

    def change_account(self, account_id, **fields):
        with self.sandbox.app_context(), write() as db:
            accounts.change(db, account_id, conditions.now(), **fields)

    def update_metadata(self, nft, metadata):
        given = {"serial_numbers": [nft[1]], "metadata": {"value": metadata.encode()}}
        return self.submit(about_treasurys("token_update_nfts", nft[0], **given))

    def wipe(self, nft, owner):
        return self.submit(about_treasurys("tokenWipe", nft[0], owner, serialNumbers=[nft[1]]))

    def delete_token(self, token=TOKEN):
        return self.submit(about_treasurys("tokenDeletion", token))
