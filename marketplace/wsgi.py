"""What a server serves where there is only the package: ``gunicorn marketplace.wsgi:app``."""

import sys

from marketplace import create_app
from marketplace.errors import StartRefused, printable

try:
    app = create_app()
except StartRefused as error:
    sys.exit(f"Error: {printable(str(error))}")
