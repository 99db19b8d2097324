"""Makes examples/postman.json of the OpenAPI document, with Postman's own converter: make postman."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from marketplace import create_app
from tests.conftest import settings

COLLECTION = Path(__file__).parents[2] / "examples/postman.json"
CONVERTER = Path(__file__).parent / "openapi/postman.js"


def convert(folder):
    """The collection of a new service whose data is in a folder."""
    document = create_app(**settings(folder)).test_client().get("/openapi.json").data
    made = subprocess.run(["node", CONVERTER], input=document, capture_output=True, check=True)
    return made.stdout.decode()


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        COLLECTION.write_text(convert(folder))
