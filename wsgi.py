"""What a server serves: ``gunicorn``, which finds it by gunicorn.conf.py, or ``granian wsgi:app``."""

import sys

from config import SETTINGS
from marketplace import create_app
from marketplace.errors import StartRefused, printable

try:
    app = create_app(**SETTINGS)
except StartRefused as error:
    sys.exit(f"Error: {printable(str(error))}")
