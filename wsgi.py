import sys

from app import create_app
from config import SettingError
from marketplace.db import DatabaseUnreadable

try:
    app = create_app()
except (SettingError, DatabaseUnreadable) as error:
    sys.exit(f"Error: {error}")
