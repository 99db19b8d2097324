"""What gunicorn reads by itself in this folder: the package's configuration, for wsgi.py."""

from config import SETTINGS
from marketplace.cli import access_log
from marketplace.cli.gunicorn_config import *  # noqa: F403

wsgi_app = "wsgi:app"
if "ACCESS_LOG" in SETTINGS:
    accesslog = access_log.destination(SETTINGS["ACCESS_LOG"])
