"""What gunicorn reads by itself in this folder: the package's configuration, for wsgi.py."""

from marketplace.cli.gunicorn_config import *  # noqa: F403

wsgi_app = "wsgi:app"
