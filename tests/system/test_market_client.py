"""The client for JavaScript: its own tests in Node.js, what it takes from the API, and its bundle.

Needs Node.js; what is generated also needs packages that make tools installs.
"""

import gzip
import json
import re
import shutil

import pytest

from harness import market_client
from harness.serving import ROOT, run_program
from marketplace.version import __version__

CLIENT, BUNDLE = ROOT / "clients/market", ROOT / "marketplace/storefront/static/market.js"
TOOLS = CLIENT / "node_modules/.bin"

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
needs_packages = pytest.mark.skipif(
    not shutil.which("node") or not TOOLS.exists(),
    reason="needs the client's packages (make tools, with npm)",
)


@needs_node
@pytest.mark.parametrize("name", ["market.test", "events.test", "trade.test", "verify.test"])
def test_its_own_tests_pass(name):
    run_program("node", "--test", CLIENT / f"tests/{name}.mjs", check=True, timeout=120)


def test_it_has_the_operations_and_the_words_of_the_api():
    """make market-client"""
    made = market_client.write_operations(market_client.openapi())
    assert made == (CLIENT / "src/operations.js").read_text()


@needs_packages
def test_its_types_are_those_of_the_api():
    """make market-client"""
    document = json.dumps(market_client.openapi())
    made = run_program(TOOLS / "openapi-typescript", input=document, check=True).stdout
    assert made == (CLIENT / "src/api.d.ts").read_text()


@needs_packages
def test_the_pages_have_what_its_source_makes():
    """make market-client"""
    made = run_program("node", CLIENT / "build.mjs", check=True).stdout
    assert made == BUNDLE.read_text()


def test_it_is_small():
    size = len(gzip.compress(BUNDLE.read_bytes(), 9))
    print(f"{size} bytes, gzipped")
    assert size <= 12_000


def test_its_version_is_the_services():
    assert json.loads((CLIENT / "package.json").read_text())["version"] == __version__


PROGRAM = """\
import { Market, verify, type MarketError } from "nft-marketplace-client";
import { ofKey } from "nft-marketplace-client/wallets";
const market = new Market({ url: "http://127.0.0.1:8000", token: "x" });
const [nft] = await market.ask("list_orderbook", { sort: "price", limit: 1 });
const price: number | undefined = nft?.listingPrice;
await market.ask("get_nft", { tokenId: "0.0.5001", serialNo: 7n });
for await (const event of market.events()) console.log(event.kind, price, (null as MarketError | null)?.tell);
// @ts-expect-error: there is no such operation
await market.ask("list_everything");
// @ts-expect-error: it has no such parameter
await market.ask("get_nft", { tokenID: "0.0.5001", serialNo: 7 });
await market.list({ accountId: "0.0.1001" }, ofKey(null, null, { Transaction: null }));
verify("", { kind: "list", accountId: "0.0.1001", tokenId: "0.0.5001", serialNo: 7, price: 5 });
"""


@needs_packages
def test_the_package_has_its_types(tmp_path):
    """As it is packed for npm, and used by a strict program."""
    shutil.copytree(CLIENT, tmp_path / "own", symlinks=True)
    packed = run_program("npm", "pack", "--silent", cwd=tmp_path / "own", check=True).stdout.strip()
    folder = tmp_path / "node_modules/nft-marketplace-client"
    folder.mkdir(parents=True)
    run_program(
        "tar", "-xzf", tmp_path / "own" / packed, "-C", folder, "--strip-components=1", check=True
    )
    (tmp_path / "program.mts").write_text(PROGRAM)
    options = [
        "--strict",
        "--noEmit",
        "--target",
        "esnext",
        "--module",
        "nodenext",
        "--lib",
        "esnext,dom",
    ]
    run_program(TOOLS / "tsc", *options, "program.mts", cwd=tmp_path, check=True)
    files = {path.relative_to(folder).parts[0] for path in folder.rglob("*") if path.is_file()}
    assert files == {"README.md", "index.js", "package.json", "src", "types", "wallets.js"}


def test_it_needs_no_other_package():
    assert "dependencies" not in json.loads((CLIENT / "package.json").read_text())
    for path in [CLIENT / "index.js", *(CLIENT / "src").glob("*.js")]:
        for target in re.findall(r'^(?:import|export) .*from "(.*)";', path.read_text(), re.M):
            assert (path.parent / target).exists(), (path.name, target)
