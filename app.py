"""The application for commands such as ``flask run``, which look for app.py: create_app()."""

from marketplace import create_app

__all__ = ["create_app"]
