"""The WSGI application: run ``gunicorn``, which reads gunicorn.conf.py, or ``granian wsgi:app``."""

import os
import sys

from config import SETTINGS
from marketplace import create_app
from marketplace.cli import startup
from marketplace.errors import StartRefused

try:
    app = create_app(**SETTINGS)
    if os.environ.get("FLASK_RUN_FROM_CLI") != "true":  # a command such as flask upgrade needs less
        startup.require_ready(app)
except StartRefused as error:
    sys.exit(f"Error: {error}")
