"""Where Flask's conventions look for the application: the package's own create_app()."""

from marketplace import create_app

__all__ = ["create_app"]
