"""What docs/offers.md says to check of an offer before it is signed is run, in Python and in JavaScript."""

import os
import re
import sys

import pytest

from harness.apps import authorized_client
from harness.cast import ALICE, BOB, KEYS, TOKEN
from harness.network import serve
from harness.serving import ROOT, run_program
from tests.system.sdks import JAVASCRIPT, needs_javascript

PROGRAMS = {
    "py": [sys.executable, "-c"],
    "mjs": ["node", "--preserve-symlinks", "--input-type=module", "-e"],
}


@pytest.mark.parametrize("language", ["py", pytest.param("mjs", marks=needs_javascript)])
def test_a_program_reads_the_sale_from_a_mirror_node(app, client, language):
    page = (ROOT / "docs/offers.md").read_text()
    [code] = re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)
    assert client.post("/v1/add", json=KEYS).status_code == 200
    offer = {"accountId": BOB, "tokenId": TOKEN, "serialNo": 7, "offerPrice": 50}
    r = authorized_client(app, "write").post("/v1/offer/extwallet", json=offer)
    with serve(app) as url:
        named = {"MIRROR": f"{url}/sandbox/api/v1", "OFFER_ID": r.json["metadata"]["offerId"]}
        options = {"env": os.environ | named, "cwd": JAVASCRIPT, "timeout": 60, "check": True}
        said = run_program(*PROGRAMS[language], code, **options).stdout
    assert said.startswith(f"{TOKEN} #7: ")
    for word in (ALICE, BOB, "50", "-50", f"paid by {BOB}"):
        assert word in said
