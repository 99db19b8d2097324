"""Makes examples/postman.json of the OpenAPI document, with Postman's own converter: make postman."""

from pathlib import Path
from tempfile import TemporaryDirectory

from harness.apps import settings
from harness.serving import run_program
from marketplace import create_app

COLLECTION = Path(__file__).parents[2] / "examples/postman.json"
CONVERTER = Path(__file__).parent / "openapi/postman.js"


def convert(folder):
    """The collection of a new service whose data is in a folder."""
    document = create_app(**settings(folder)).test_client().get("/openapi.json").text
    return run_program("node", CONVERTER, input=document, check=True).stdout


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        COLLECTION.write_text(convert(folder))
