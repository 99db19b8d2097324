"""Gunicorn's configuration, which gunicorn reads if it starts in this folder: the package's, for wsgi.py."""

from marketplace.serving.gunicorn_config import *  # noqa: F403

wsgi_app = "wsgi:app"
