"""Two linters find nothing in the documents, and examples/postman.json is made of the one of today.

Needs npm: make tools installs the rest.
"""

import json
import os
import shutil
from pathlib import Path

import pytest

from harness.apps import settings
from harness.serving import run_program
from marketplace import create_app
from tests.system import postman

FOLDER = Path(__file__).parent / "openapi"
TOOLS = FOLDER / "node_modules" / ".bin"

pytestmark = pytest.mark.skipif(
    not shutil.which("node") or not TOOLS.exists(),
    reason="needs Spectral, Redocly and Postman's converter (make tools, with npm)",
)


def run(*command):
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    return json.loads(run_program(*command, cwd=FOLDER, env=os.environ | quiet).stdout)


def findings(path):
    """What the linters say of a document, of any severity: the rules' names."""
    spectral = run(TOOLS / "spectral", "lint", path, "-r", "spectral.yaml", "-f", "json", "--quiet")
    options = ["--config", "redocly.yaml", "--format", "json", "--max-problems", "1000"]
    redocly = run(TOOLS / "redocly", "lint", path, *options)
    return [
        *(f"{found['code']} at {'/'.join(map(str, found['path']))}" for found in spectral),
        *(
            f"{found['ruleId']} at {found['location'][0].get('pointer')}"
            for found in redocly["problems"]
        ),
    ]


TESTNET = {"NETWORK": "testnet", "ACCOUNT_ID": "0.0.4321", "PUBLIC_URL": "https://nft.shop.test"}


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("/openapi.json", {}),
        ("/sandbox/openapi.json", {}),
        ("/market/openapi.json", TESTNET | {"API_PREFIX": "/market", "WALLETS": "hashpack,blade"}),
    ],
)
def test_the_linter_has_no_findings(tmp_path, path, options):
    app = create_app(**settings(tmp_path), **options)
    document = tmp_path / "openapi.json"
    document.write_text(app.test_client().get(path).text)
    assert findings(document) == []


def test_the_postman_collection_is_made_of_this_document(tmp_path):
    """Where it is not, make postman makes it again."""
    assert postman.convert(tmp_path) == postman.COLLECTION.read_text()
