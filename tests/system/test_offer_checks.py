"""What docs/offers.md says to check of an offer before it is signed is run, in Python and in JavaScript."""

import os
import re
import sys

import pytest

from harness.apps import authorized_client, settings
from harness.cast import ALICE, BOB, KEYS, TOKEN
from harness.network import serve
from harness.serving import ROOT, run_program
from marketplace import create_app
from tests.system.sdks import JAVASCRIPT, needs_javascript

PROGRAMS = {
    "py": [sys.executable, "-c"],
    "mjs": ["node", "--preserve-symlinks", "--input-type=module", "-e"],
}


@pytest.fixture
def market(tmp_path):
    """A marketplace that takes 2.5 % of each price."""
    return create_app(**settings(tmp_path), SALE_FEE_BASIS_POINTS="250")


@pytest.mark.parametrize("language", ["py", pytest.param("mjs", marks=needs_javascript)])
def test_a_program_says_whether_an_offer_is_what_the_user_expects(market, language):
    page = (ROOT / "docs/offers.md").read_text()
    [code] = re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)
    client = authorized_client(market, "write")
    assert client.post("/v1/add", json=KEYS).status_code == 200
    offer = {"accountId": BOB, "tokenId": TOKEN, "serialNo": 7, "offerPrice": 50}
    offer_id = client.post("/v1/offer/extwallet", json=offer).json["metadata"]["offerId"]
    expected = {"NFT": f"{TOKEN} #7", "OWNER": ALICE, "BIDDER": BOB, "PRICE": "50"}
    expected["PART"] = str(125_000_000)

    def check(**other):
        named = {"MIRROR": f"{url}/sandbox/api/v1", "OFFER_ID": offer_id} | expected | other
        options = {"env": os.environ | named, "cwd": JAVASCRIPT, "timeout": 60}
        ended = run_program(*PROGRAMS[language], code, **options)
        assert "Traceback" not in ended.stderr, ended.stderr
        assert (ended.returncode == 0) == (ended.stdout == "yes\n")
        return ended.stdout

    with serve(market) as url:
        assert check() == "yes\n"
        others = {"NFT": f"{TOKEN} #8", "OWNER": BOB, "BIDDER": ALICE, "PRICE": "49", "PART": "0"}
        for name, value in others.items():
            said = check(**{name: value})
            assert said.startswith("no: ") and f"{TOKEN} #7: {ALICE} to {BOB}" in said
        assert client.delete(f"/v1/offers/{offer_id}").status_code == 200
        assert check().startswith("no: ") and "not open" in check()
