import sys

from app import create_app
from config import SettingError
from marketplace.db import DatabaseUnreadable
from marketplace.errors import DatabaseBusy

try:
    app = create_app()
except (SettingError, DatabaseUnreadable, DatabaseBusy) as error:
    sys.exit(f"Error: {error}")
