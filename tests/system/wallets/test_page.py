"""docs/wallets.md says what wallets' libraries do with the bytes. Every row of it is run, and compared.

The libraries speak their own protocols over a relay in the same process (relay.mjs), with wallets made of
what they offer for wallets (wallets.mjs): these sign with real keys, and submit to the sandbox. rows.mjs has
the call of each row. Needs node, and the packages of tests/system/wallets: make tools installs them.
"""

import base64
import json
import re

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.transaction.transaction import Transaction

from harness.cast import ALICE, BOB, CHARLIE, TOKEN
from harness.serving import ROOT
from marketplace.demo import SNIPPETS
from marketplace.hedera import times
from tests.system.wallets.programs import (
    KINDS,
    RESULTS,
    find_versions,
    is_true,
    needs_wallets,
    run_libraries,
)

SALES = KINDS[:3]
PAGE = (ROOT / "docs" / "wallets.md").read_text()


def rows_of_the_page():
    """What each row says, by its anchor and kind; a kind that a row does not have is left out."""
    found = {}
    for line in PAGE.splitlines():
        if match := re.match(r'\| <a id="([a-z0-9-]+)"></a>.*\|(.*)\|(.*)\|(.*)\|(.*)\|$', line):
            row, *cells = map(str.strip, match.groups())
            assert row not in found, row
            said = dict(zip(KINDS, cells, strict=True))
            found[row] = {kind: cell for kind, cell in said.items() if cell != "-"}
    return found


ROWS = rows_of_the_page()


@pytest.fixture
def results(tmp_path):
    return run_libraries(tmp_path)


def test_the_versions_are_those_of_the_last_recorded_run():
    """If this fails, run python -m tests.system.wallets.record, then make docs."""
    assert json.loads(RESULTS.read_text())["versions"] == find_versions()


@needs_wallets
def test_the_page_is_what_the_libraries_do(results):
    """One test, so that the libraries are run once, whatever shares tests out among processes."""
    outcomes = {(line["row"], line["kind"]): line for line in results if "row" in line}
    facts = [line for line in results if "fact" in line]

    snippets = {key: outcomes.pop(key) for key in [*outcomes] if key[0].startswith("snippet-")}
    adapters = {key: outcomes.pop(key) for key in [*outcomes] if key[0].startswith("adapter-")}
    assert len(adapters) == 3 * len(KINDS)
    ended = {key: (line["outcome"], line["hasItsId"]) for key, line in adapters.items()}
    assert {key: end for key, end in ended.items() if end != ("SUCCESS", True)} == {}
    said = {(row, kind): cell for row, kinds in ROWS.items() for kind, cell in kinds.items()}
    said = {key: cell for key, cell in said.items() if not key[0].startswith("python-")}
    assert said.keys() == outcomes.keys()
    wrong = [
        (*key, cell, outcomes[key]["outcome"])
        for key, cell in said.items()
        if not is_true(cell, outcomes[key])
    ]
    assert wrong == []

    names = {name for name, _ in SNIPPETS if not name.endswith(".py")}
    assert {row.removeprefix("snippet-").removeprefix("buy/") for row, _ in snippets} == names
    assert {line["outcome"] for line in snippets.values()} == {"SUCCESS"}
    of = {(line["fact"], line["trades"], line["kind"]): line for line in facts}
    for column, kind in enumerate(SALES, start=1):
        said = {cells[0]: cells[column] for cells in table("What is signed")}
        assert {of["presses", trades, kind]["presses"] for trades in ("ED25519", "several")} == {1}
        check_what_is_in_the_bytes(said, of["shows", "ED25519", kind])
        # Its own cells, where several NFTs have others than one.
        own = {name.removesuffix(SEVERAL): cell for name, cell in said.items() if SEVERAL in name}
        assert own.keys() == {"Content", "Memo", "Maximum fee"}
        several = of["shows", "several", kind]
        check_what_is_in_the_bytes(said | own, several)
        assert several["does"].count("by approval" if kind == "buy" else ",") == {"buy": 8}.get(
            kind, 19
        )


SEVERAL = ", several NFTs"


def check_what_is_in_the_bytes(said, shown):
    assert said["SDK class"] == f"`{shown['type']}`"
    assert is_like(said["Memo"], shown["memo"])
    assert is_like(said["Content"], shown["does"])
    assert said["Maximum fee"] == f"`{shown['maxFee']}`"
    assert said["Valid for"] == f"`{shown['validSeconds']}` seconds"
    assert said["Signatures included"] == f"`{shown['signatures']}`"
    payer = said["Payer, whose account is in the transaction ID"]
    assert (payer == "the marketplace") == (shown["payer"] == "0.0.9001")
    assert shown["isFrozen"] and shown["isUnchanged"] and shown["isEncodedAlike"]
    assert shown["nodes"] == ["0.0.3"]
    # Of a minified bundle, and of another copy of the SDK in it.
    assert len(shown["name"]) <= 2
    assert not shown["isOfAnotherSdk"]


def is_like(cell, shown):
    """Whether they say the same of other accounts, serial numbers and prices."""
    pattern = re.escape(mask(cell.strip("`"))).replace(r"\.\.\.", ".*")
    return re.fullmatch(pattern, mask(shown))


def mask(text):
    text = re.sub(r"0\.0\.31\d+", "OWNER", re.sub(r"0\.0\.32\d+", "BUYER", text))
    text = re.sub(r"\d+(?= (?:ℏ|HBAR))", "250", text)
    return re.sub(r"(#|Number )\d+", r"\g<1>1", text)


def table(title):
    """The rows of the first table under a title of the page, cell by cell."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


# The Python SDK, in this process

NFT = {"tokenId": TOKEN, "serialNo": 7}
PATHS = {
    "list": "/v1/list/extwallet",
    "withdraw": "/v1/delist/extwallet",
    "buy": "/v1/buy/extwallet",
    "offer": "/v1/offer/extwallet",
}
PRICES = {"list": {"listingPrice": 250}, "offer": {"offerPrice": 200}}


class Person:
    """Somebody with an account and a key, who signs with the Python SDK."""

    def __init__(self, account_id, key_type, client, ledger, named=NFT):
        self.key = PrivateKey.generate(key_type)
        self._client = client
        self._ledger = ledger
        self._keys = named | {"accountId": account_id}

    def add(self):
        assert self._client.post("/v1/add", json=self._keys).json == {"result": "OK"}

    def prepare(self, kind):
        answer = self._client.post(PATHS[kind], json=self._keys | PRICES.get(kind, {}))
        return base64.b64decode(answer.json["byteArray"])

    def sign(self, content):
        return Transaction.from_bytes(content).sign(self.key).to_bytes()

    def complete(self, kind, content):
        """Hand in a purchase, and submit and report the others. Returns the ledger's code, or our reason."""
        if kind != "buy":
            return self.submit(content)
        body = self._keys | {"signedTransaction": base64.b64encode(content).decode()}
        answer = self._client.post("/v1/comingsoon", json=body).json
        return "SUCCESS" if answer.get("result") == "OK" else answer["reason"]

    def submit(self, content, now=None):
        """The ledger's code; after a SUCCESS the report must be OK, too."""
        receipt = self._ledger.submit(content, now)
        if receipt.result == "SUCCESS":
            reported = self._keys | {"transactionId": receipt.transaction_id}
            assert self._client.post("/v1/comingsoon", json=reported).json["result"] == "OK"
        return receipt.result


def late(person, kind, content):
    seconds = next(cells[1] for cells in table("What is signed") if cells[0] == "Valid for")
    moment = times.now() + int(re.sub(r"\D", "", seconds)) * times.SECOND
    return person.submit(person.sign(content), moment)


def twice(person, kind, content):
    signed = person.sign(content)
    assert person.complete(kind, signed) == "SUCCESS"
    return person.complete(kind, signed)


def freeze(person, kind, content):
    frozen = Transaction.from_bytes(content).freeze().to_bytes()
    assert frozen == content
    return sign(person, kind, frozen)


def set_memo(person, kind, content):
    try:
        Transaction.from_bytes(content).set_transaction_memo("Mine")
    except Exception as error:
        return str(error)


def execute(person, kind, content):
    return person.submit(person.sign(content))


def sign(person, kind, content):
    return person.complete(kind, person.sign(content))


OF_SEVERAL = "python-several"
PYTHON = {
    "python-sign": sign,
    "python-ecdsa": sign,
    "python-execute": execute,
    "python-freeze": freeze,
    "python-set": set_memo,
    "python-twice": twice,
    "python-late": late,
}


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (row, kind)
        for row in sorted({*PYTHON} | {row for row in ROWS if "python-" in row} - {OF_SEVERAL})
        for kind in ROWS[row]
    ],
)
def test_what_the_page_says_of_the_python_sdk(client, nft, ledger, row, kind):
    key_type = "ecdsa" if row == "python-ecdsa" else "ed25519"
    seller, buyer = (Person(it, key_type, client, ledger) for it in (ALICE, BOB))
    if kind != "list":
        assert sign(seller, "list", seller.prepare("list")) == "SUCCESS"
    person = buyer if kind in ("buy", "offer") else seller
    if kind == "offer":
        field = "3a21" if key_type == "ecdsa" else "1220"
        ledger.change_account(BOB, key=f"{field}{buyer.key.public_key().to_bytes_raw().hex()}")
    said = ROWS[row][kind].strip("`")
    assert said and said in PYTHON[row](person, kind, person.prepare(kind))


@pytest.mark.parametrize("kind", SALES)
def test_what_the_page_says_of_several_and_the_python_sdk(client, ledger, kind):
    all_of_alice = {"tokenId": TOKEN, "serialNos": [*range(1, 21)]}
    all_of_charlie = {"tokenId": "0.0.7002", "serialNos": [*range(1, 5)]}
    basket = [
        {"tokenId": token, "serialNo": n} for token in (TOKEN, "0.0.7002") for n in range(1, 5)
    ]
    buyer = Person(BOB, "ed25519", client, ledger, {"nfts": basket})
    sellers = [
        Person(ALICE, "ed25519", client, ledger, all_of_alice),
        Person(CHARLIE, "ed25519", client, ledger, all_of_charlie),
    ]
    for seller in sellers:
        seller.add()
        if kind != "list":
            assert sign(seller, "list", seller.prepare("list")) == "SUCCESS"
    person = buyer if kind == "buy" else sellers[0]
    assert sign(person, kind, person.prepare(kind)) == ROWS[OF_SEVERAL][kind].strip("`")


@pytest.mark.parametrize("form", ["{}@{}.{}", "{}-{}-{}", "{}@{}.{:09}", "{}-{}-{:09}"])
def test_a_report_takes_both_forms_of_an_id(client, nft, ledger, form):
    seller = Person(ALICE, "ed25519", client, ledger)
    receipt = ledger.submit(seller.sign(seller.prepare("list")))
    account_id, seconds, nanos = re.split("[@.-](?=[0-9]+(?:[.-][0-9]+)?$)", receipt.transaction_id)
    written = form.format(account_id, seconds, int(nanos))
    reported = NFT | {"accountId": ALICE, "transactionId": written}
    assert client.post("/v1/comingsoon", json=reported).json["result"] == "OK"
