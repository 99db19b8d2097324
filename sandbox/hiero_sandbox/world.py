"""What the ledger knows before a transaction has made it: nothing, as on a network."""

from collections.abc import Iterable, Mapping

from hiero_sdk_python.hapi.services.token_create_pb2 import TokenCreateTransactionBody


class World:
    """The world of hiero-sandbox alone. A host that wants more to exist overrides what the ledger asks."""

    cents_per_hbar = 12  # as at hiero-local-node and Solo
    hints: Mapping[str, str] = {}  # by result code: what to do then

    def find_account(self, account_id: str) -> bool:
        """Whether an id that no transaction has given away is an account."""
        return False

    def find_token(self, token: str) -> TokenCreateTransactionBody | None:
        """The definition of a token that no transaction has created."""
        return None

    def find_metadata(self, token: str, serial_no: int) -> str:
        """The metadata, in base64, of an NFT that no transaction has minted."""
        return ""

    def find_key(self, account_id: str) -> bytes | None:
        """The public key of an account that has none on the ledger yet."""
        return None

    def choose_key(self, account_id: str, signers: Iterable[bytes]) -> bytes | None:
        """Which of the public keys that have signed becomes the key of an account without one."""
        return None

    def ask_for_nft(self, token: str, serial_no: int, account_id: str, now: int) -> None:
        """Somebody asks the mirror node whether an account has an NFT."""

    def refuse_key(self, account_id: str) -> None:
        """A signature was refused: the account's key has not signed."""
