"""The application of this folder: the service with the settings of config.py."""

from flask import Flask

import marketplace
from config import SETTINGS


def create_app() -> Flask:
    return marketplace.create_app(**SETTINGS)
