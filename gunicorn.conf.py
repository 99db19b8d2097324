"""What gunicorn reads by itself in this folder: the package's configuration, for wsgi.py."""

from config import SETTINGS
from marketplace.operator import requestlog
from marketplace.operator.gunicorn import *  # noqa: F403

wsgi_app = "wsgi:app"
if "ACCESS_LOG" in SETTINGS:
    accesslog = requestlog.destination(SETTINGS["ACCESS_LOG"])
