"""The WSGI application of the installed package: ``gunicorn marketplace.wsgi:app``."""

from marketplace import create_app
from marketplace.serving.startup import make_served

app = make_served(create_app)
