"""The application of this folder: the service with the settings of config.py."""

from typing import Any

from flask import Flask

import marketplace
from config import SETTINGS


def create_app(**options: Any) -> Flask:
    """Make it. Options, such as ``DATABASE_URL="sqlite:///market.db"``, come before those of config.py."""
    return marketplace.create_app(**SETTINGS | options)
