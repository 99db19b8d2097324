"""Serves the application of app.py: ``gunicorn``, which reads gunicorn.conf.py, or ``granian wsgi:app``."""

from app import create_app
from marketplace.serving.startup import make_served

app = make_served(create_app)
