"""What an attacker does with transactions and names, step by step, against the service as it is started.

``python -m stress.attack`` runs each on both engines, and prints what became of it. It fell if somebody lost
HBAR by it, or could not go on.
"""

import base64
import json
import os
import random
import signal
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.error
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from itertools import count
from pathlib import Path
from typing import Any

from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from harness.cast import ALICE, BOB, MARKET, TOKEN
from harness.engines import database_settings, execute, running_on
from harness.postgresql import until
from harness.serving import Service, environment, run_program, sandbox_market
from harness.wallets import allow, give_new_id, new_body, seal
from marketplace.hedera import times, transactions
from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.transactions import ScheduledSale
from marketplace.market.memos import listing_memo, offer_memo
from marketplace.sandbox import wallet

STRANGER, BUYER, POOR = "0.0.1100", "0.0.1101", "0.0.1102"
PRICE = 1000
KILLS, CROWD, MEMOS = 6, 50, 15
TRAITS_OF_EACH, NFTS = 20, 10_000
STORM_TOKEN = "0.0.990001"  # stored only: no ledger has it
READERS = 8
PURCHASES = 5
STORED = "SELECT 1 FROM prepared_transaction WHERE transaction_id = ?"
PAID = """
    SELECT COALESCE(SUM(fee_tinybars), 0) FROM prepared_transaction
    WHERE kind = 'purchase' AND account_id LIKE '0.0.12%'
"""
WHEN = ("before it was stored", "between insert and submission", "after submission")
CHANGE = "UPDATE nft_trait SET value = ? WHERE token = ? AND type = 'Type 0' AND serial_no = ?"
COUNT = "UPDATE collection SET traits_version = traits_version + 1 WHERE token = ?"


class Fell(Exception):
    """A sequence that succeeded."""


class Scene:
    """The service, and what people sign."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.names = count(1)

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        try:
            return 200, self.service.call(path, body)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def get(self, path: str, body: Any = None) -> Any:
        status, answer = self.ask(path, body)
        if status != 200:
            raise Fell(f"{path}: {status} {answer['message']}")
        return answer

    def submit(self, body: TransactionBody, *signers: str) -> str:
        """Sign and submit; returns the transaction's id."""
        give_new_id(body, signers[0])
        content = seal(body)
        for signer in signers:
            content = wallet.sign(signer, content)
        return self.submit_bytes(content)

    def submit_bytes(self, content: bytes) -> str:
        keys = {"transaction": base64.b64encode(content).decode()}
        answer = self.service.call("/sandbox/transactions", keys)
        if answer["result"] != "SUCCESS":
            raise RuntimeError(answer)
        return str(answer["transactionId"])

    def sign(self, prepared: Any, account_id: str) -> bytes:
        return wallet.sign(account_id, base64.b64decode(prepared["byteArray"]))

    def try_to_ask(self, order: dict[str, Any], signed: str) -> int:
        """Hand a purchase in; returns the status, 202 while it is pending, and 0 without an answer."""
        try:
            status, answer = self.ask("/v1/comingsoon", order | {"signedTransaction": signed})
        except (OSError, HTTPException):
            return 0
        if status in (409, 422):
            raise Fell(str(answer))
        return 202 if answer.get("result") == "PENDING" else status

    def list_rows(self, id: str) -> list[Any]:
        """The ledger's rows of a transaction of the marketplace."""
        moment = id.partition("@")[2].replace(".", "-")
        found = self.ask(f"/sandbox/api/v1/transactions/{MARKET}-{moment}")[1]
        return list(found.get("transactions", []))

    def balance(self, account_id: str) -> int:
        found = self.service.call(f"/sandbox/api/v1/accounts/{account_id}")
        return int(found["balance"]["balance"])

    def create_token(self, name: str, owner: str, *, changes_fees: bool = False) -> str:
        """A collection whose owner can change its name, with five NFTs."""
        body = new_body(owner, "")
        body.transactionFee = 60 * TINYBARS
        new = body.tokenCreation
        new.name, new.symbol, new.tokenType, new.supplyType = name, f"S{next(self.names)}", 1, 0
        new.treasury.CopyFrom(transactions.make_account_id(owner))
        for key in (new.adminKey, new.supplyKey, *[new.fee_schedule_key] * changes_fees):
            key.ed25519 = wallet.public_key(owner)
        new.autoRenewAccount.CopyFrom(transactions.make_account_id(owner))
        new.autoRenewPeriod.seconds = 7_776_000
        dashed = self.submit(body, owner).replace("@", "-")
        dashed = dashed[: len(owner)] + dashed[len(owner) :].replace(".", "-")
        [row] = self.service.call(f"/sandbox/api/v1/transactions/{dashed}")["transactions"]
        token = str(row["entity_id"])
        body = new_body(owner, "")
        body.tokenMint.token.CopyFrom(transactions.make_token_id(token))
        body.tokenMint.metadata.extend([b"ipfs://bafkqacbqfyyc4nzqgayq/1.json"] * 5)
        self.submit(body, owner)
        return token

    def list(self, token: str, serial_no: int, owner: str = ALICE, price: int = PRICE) -> None:
        nft = {"accountId": owner, "tokenId": token, "serialNo": serial_no}
        self.get("/v1/add", nft)
        prepared = self.get("/v1/list/extwallet", nft | {"listingPrice": price})
        self.submit_bytes(self.sign(prepared, owner))
        self.get("/v1/comingsoon", nft)

    def flask(self, *arguments: str) -> str:
        return str(self.service.flask(*arguments).stdout)

    def execute(self, sql: str, *parameters: Any) -> Any:
        url = database_settings(self.service.folder).get("DATABASE_URL")
        own = sql if url is None else sql.replace("?", "%s")
        return execute(url or self.service.folder / "instance/marketplace.db", own, *parameters)


def change_fees_after_signing(scene: Scene) -> str:
    """The issuer, who is the buyer's friend, raises the royalty to 99 % once the buyer has signed."""
    token = scene.create_token("Sly", ALICE, changes_fees=True)
    nft = {"accountId": ALICE, "tokenId": token, "serialNo": 1}
    scene.get("/v1/add", nft)
    refused, answer = scene.ask("/v1/list/extwallet", nft | {"listingPrice": PRICE})
    if (refused, answer.get("reason")) != (409, "FEES_CHANGEABLE"):
        raise Fell(f"it could be listed: {refused} {answer}")
    scene.flask("verify", token, "--reason", "known")
    scene.list(token, 1)
    order = nft | {"accountId": BUYER}
    prepared = scene.get("/v1/buy/extwallet", order)
    body = new_body(ALICE, "")
    body.token_fee_schedule_update.token_id.CopyFrom(transactions.make_token_id(token))
    fee = body.token_fee_schedule_update.custom_fees.add()
    fee.fee_collector_account_id.CopyFrom(transactions.make_account_id(ALICE))
    fee.royalty_fee.exchange_value_fraction.numerator = 99
    fee.royalty_fee.exchange_value_fraction.denominator = 100
    scene.submit(body, ALICE)
    before = scene.balance(MARKET)
    signed = base64.b64encode(scene.sign(prepared, BUYER)).decode()
    status, answer = scene.ask("/v1/comingsoon", order | {"signedTransaction": signed})
    if (status, answer.get("reason")) != (409, "FEES_CHANGED") or scene.balance(MARKET) != before:
        raise Fell(f"{status} {answer}")
    return "FEES_CHANGEABLE at listing; verified, FEES_CHANGED at handing in, nothing charged"


def name_a_fresh_listing(scene: Scene) -> str:
    """A stranger's approvals of another NFT name a listing that was just made, one a second."""
    theirs = scene.create_token("Noise", STRANGER)
    scene.list(TOKEN, 3)
    statuses = Counter[int]()
    for number in range(MEMOS):
        body = new_body(STRANGER, listing_memo(TOKEN, 3, 1, "Foo"))
        allow(body.cryptoApproveAllowance, (theirs, 1 + number % 5), STRANGER, MARKET)
        scene.submit(body, STRANGER)
        time.sleep(1)
        order = {"accountId": BUYER, "tokenId": TOKEN, "serialNo": 3, "expectedPrice": PRICE}
        statuses[scene.ask("/v1/buy/extwallet", order)[0]] += 1
    if statuses[200] < MEMOS - 1:  # the owner's own approval may still be queued at the first
        raise Fell(f"{dict(statuses)}")
    return f"{MEMOS} memos, purchases prepared meanwhile: {dict(statuses)}"


def crowd_offers(scene: Scene) -> str:
    """Fifty offers of 5,000 that nobody can pay, and an honest one of 4,000."""
    scene.list(TOKEN, 4)
    body = new_body(POOR, "")  # keeps 30 HBAR for the fees
    amount = scene.balance(POOR) - 30 * TINYBARS
    for account_id, change in ((POOR, -amount), (ALICE, amount)):
        one = body.cryptoTransfer.transfers.accountAmounts.add(amount=change)
        one.accountID.CopyFrom(transactions.make_account_id(account_id))
    scene.submit(body, POOR)
    for number in range(CROWD):
        memo = offer_memo(TOKEN, 4, 5000 + number, "")
        sale = ScheduledSale(TOKEN, 4, ALICE, POOR, 5000 + number, 0, MARKET, memo, TINYBARS // 2)
        body = new_body(POOR, memo)
        made = body.scheduleCreate
        made.scheduledTransactionBody.CopyFrom(sale.build())
        made.payerAccountID.CopyFrom(transactions.make_account_id(POOR))
        made.memo, made.expiration_time.seconds = memo, times.now() // times.SECOND + 86_400
        scene.submit(body, POOR)
    bid = {"accountId": BUYER, "tokenId": TOKEN, "serialNo": 4}
    prepared = scene.get("/v1/offer/extwallet", bid | {"offerPrice": 4000})
    scene.submit_bytes(scene.sign(prepared, BUYER))

    def list_bidders() -> set[str]:
        offers = scene.get(f"/v1/nft/{TOKEN}/4/offers")
        return {each["to"]["accountId"] for each in offers}

    until(lambda: BUYER in list_bidders(), "the honest offer is not found")
    if list_bidders() != {BUYER}:
        raise Fell(f"offers that nobody can pay are listed: {list_bidders()}")
    return f"{CROWD} uncovered offers; the honest one is made and is the only one listed"


def rename_a_verified_collection(scene: Scene) -> str:
    genuine = scene.create_token("Golden Pandas", ALICE)
    scene.list(genuine, 1, price=7)
    sly = scene.create_token("Nice Art", STRANGER)
    nft = {"accountId": STRANGER, "tokenId": sly, "serialNo": 1}
    scene.get("/v1/add", nft)
    until(lambda: scene.ask(f"/v1/collection/{sly}")[1].get("name"), "its name is not read")
    scene.flask("verify", sly, "--reason", "known")
    body = new_body(STRANGER, "")
    body.tokenUpdate.token.CopyFrom(transactions.make_token_id(sly))
    body.tokenUpdate.name = "Golden Pandas"
    scene.submit(body, STRANGER)
    began = time.monotonic()

    def is_renamed() -> bool:
        return bool(scene.get(f"/v1/collection/{sly}")["name"] == "Golden Pandas")

    until(is_renamed, "its new name is not read")
    if scene.get(f"/v1/collection/{sly}")["verified"]:
        raise Fell("it is verified under its new name")
    seconds = time.monotonic() - began
    if f"verify {sly}" not in scene.flask("status") and sly not in scene.flask("status"):
        raise Fell("flask status does not say so")
    return f"suspended {seconds:.1f} s after it was renamed, and flask status says so"


def kill_decisions(scene: Scene) -> str:
    """``flask hide`` is killed at any moment: within seconds it is hidden everywhere or nowhere."""
    scene.list(TOKEN, 5, price=6)
    path, dice, counts = f"/v1/nft/{TOKEN}/5", random.Random(1), Counter[str]()
    command = ["flask", "--app", "wsgi", "hide", f"{TOKEN}:5", "--reason", "killed"]
    for _ in range(KILLS):
        began = time.monotonic()
        scene.service.flask("hidden")
        usual = time.monotonic() - began
        options = {"cwd": scene.service.folder, "env": scene.service.environ}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )
        time.sleep(usual * dice.uniform(0.6, 1.1))
        process.kill()
        process.communicate()

        def says_the_same() -> bool:
            [[decided]] = scene.execute("SELECT COUNT(*) FROM decision WHERE kind = 'hidden'")
            is_hidden = scene.ask(path)[0] == 451
            listed = scene.get(f"/v1/nftslisted/{TOKEN}")
            in_book = any(each["serialNo"] == 5 for each in listed)
            return bool(decided) == is_hidden == (not in_book)

        until(says_the_same, "a decision stays half done")
        counts["hidden" if scene.ask(path)[0] == 451 else "not hidden"] += 1
        if scene.ask(path)[0] == 451:
            scene.flask("unhide", f"{TOKEN}:5")
    return f"{KILLS} kills: {dict(counts)}, each everywhere"


def kill_purchases(scene: Scene) -> str:
    """The workers are killed while a purchase is handed in, mostly as soon as it is stored.

    Handed in again, it is sold once, charged once, and seen.
    """
    dice, counts, before = random.Random(2), Counter[str](), scene.balance(MARKET)
    for number in range(PURCHASES):
        serial_no, buyer = 100 + number, f"0.0.{1200 + number}"
        scene.list(TOKEN, serial_no, price=5)
        order = {"accountId": buyer, "tokenId": TOKEN, "serialNo": serial_no}
        prepared = scene.get("/v1/buy/extwallet", order)
        id = prepared["metadata"]["transactionId"]
        signed = base64.b64encode(scene.sign(prepared, buyer)).decode()
        workers = scene.service.workers()
        handing_in = threading.Thread(target=scene.try_to_ask, args=(order, signed))
        handing_in.start()
        end = time.monotonic() + dice.choice((0.1, 2, 2, 2))
        while time.monotonic() < end and not scene.execute(STORED, id):
            time.sleep(0.001)
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        handing_in.join()
        scene.service.wait_for_other_workers(workers)
        is_stored, is_submitted = bool(scene.execute(STORED, id)), bool(scene.list_rows(id))
        counts[WHEN[is_stored + is_submitted]] += 1
        until(lambda: scene.try_to_ask(order, signed) == 200, f"{id} is not sold")  # noqa: B023
        results = [row["result"] for row in scene.list_rows(id)]
        events = scene.get(f"/v1/nft/{TOKEN}/{serial_no}/events")
        sales = [event for event in events if event["kind"] == "SOLD"]
        if results != ["SUCCESS"] or len(sales) != 1:
            raise Fell(f"{id}: {results}, {sales}")
    [[stored]] = scene.execute(PAID)
    if int(stored) != before - scene.balance(MARKET):
        raise Fell(f"{stored} tinybars are stored, {before - scene.balance(MARKET)} were charged")
    return f"{PURCHASES} kills: {dict(counts)}; each sold once, and charged once"


def give_the_sandbox_a_key(scene: Scene) -> str:
    """What the sandbox signs with a real key is valid on the real network: it must not start with one."""
    with tempfile.TemporaryDirectory() as path:
        key = Path(path, "key")
        key.write_text(wallet.private_key(BOB).to_string_der())
        key.chmod(0o600)
        own = environment(ACCOUNT_KEY_FILE=key, NETWORK="sandbox", DATA_DIR=path)
        started = run_program("flask", "--app", "wsgi", "status", cwd=scene.service.folder, env=own)
    if started.returncode == 0 or "MARKETPLACE_NETWORK" not in started.stderr + started.stdout:
        raise Fell(f"it started: {started.stdout}{started.stderr}")
    return "it refuses to start, and names MARKETPLACE_NETWORK"


def change_traits(scene: Scene) -> str:
    """200,000 traits, one of which changes each second, and eight readers: how slow is the order book?"""
    moment = times.to_iso(times.now())
    sql = "INSERT INTO collection (token, name, retry_at, listed) VALUES (?, 'Storm', '9', 0)"
    scene.execute(sql, STORM_TOKEN)
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {NFTS})"
    attributes = json.dumps(
        [{"trait_type": f"Type {kind}", "value": "Value 1"} for kind in range(TRAITS_OF_EACH)]
    )
    columns = "token, serial_no, name, file_type, attributes, owner, ledger_at, ledger_state"
    scene.execute(
        f"INSERT INTO nft ({columns}) {numbers} SELECT '{STORM_TOKEN}', i, 'Storm', 'image/png', ?, ?, ?,"
        " 'decided' FROM n",
        attributes, ALICE, moment,
    )  # fmt: skip
    for kind in range(TRAITS_OF_EACH):
        scene.execute(
            f"INSERT INTO nft_trait (token, type, value, serial_no) {numbers}"
            f" SELECT '{STORM_TOKEN}', 'Type {kind}', CONCAT('Value ', i % {5 + 40 * kind}), i FROM n"
        )
    over = threading.Event()

    def change() -> None:
        for number in count(1):
            if over.wait(1):
                return
            scene.execute(CHANGE, f"Changed {number}", STORM_TOKEN, number)
            scene.execute(COUNT, STORM_TOKEN)

    def read() -> None:
        dice = random.Random()
        while not over.is_set():
            with suppress(OSError):
                scene.ask(f"/v1/nft/{STORM_TOKEN}/{dice.randint(1, NFTS)}/traits")
                scene.ask(f"/v1/collection/{STORM_TOKEN}/traits")

    def time_order_book(seconds: float) -> list[float]:
        took, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            scene.get("/v1/orderbook")
            took.append(time.monotonic() - began)
            time.sleep(0.05)
        return took

    calm = statistics.median(time_order_book(4))
    beside = [threading.Thread(target=read) for _ in range(READERS)]
    for thread in beside:
        thread.start()
    reading = statistics.median(time_order_book(8))
    changer = threading.Thread(target=change)
    changer.start()
    storm = time_order_book(20)
    over.set()
    for thread in (*beside, changer):
        thread.join()
    median = statistics.median(storm)
    figures = [f"{seconds * 1000:.0f} ms" for seconds in (calm, reading, median)]
    line = f"the order book's median: {figures} alone, beside {READERS} readers, and in the storm"
    if median > 4 * reading + 0.05:
        raise Fell(line)
    return line


SEQUENCES: dict[str, Callable[[Scene], str]] = {
    "fees are changed after signing": change_fees_after_signing,
    "a stranger's memo names a fresh listing": name_a_fresh_listing,
    "offers crowd": crowd_offers,
    "a verified collection is renamed": rename_a_verified_collection,
    "decisions are killed": kill_decisions,
    "purchases are killed": kill_purchases,
    "the sandbox signs for another ledger": give_the_sandbox_a_key,
    "traits change": change_traits,
}


@contextmanager
def scene(engine: str) -> Iterator[Scene]:
    with running_on(engine), tempfile.TemporaryDirectory() as path:
        settings = {"WRITE_LIMIT": "off", "MIRROR_NODE_RATE": 10_000}
        with sandbox_market(Path(path), "--workers", "2", **settings) as service:
            yield Scene(service)


def run(engine: str, names: Iterable[str]) -> int:
    """Run sequences; returns how many fell."""
    fallen = 0
    with scene(engine) as attacked:
        for name in names:
            began = time.monotonic()
            try:
                line = SEQUENCES[name](attacked)
            except (Fell, AssertionError) as error:
                line, fallen = f"FELL: {error}", fallen + 1
            print(f"{name}, {engine}, {time.monotonic() - began:.0f} s: {line}", flush=True)
    return fallen
