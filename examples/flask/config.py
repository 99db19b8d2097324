"""The site's own settings. The marketplaces in it do not read this file."""

SITE = "Art and games"
ADDRESS = "http://127.0.0.1:8000"
# Each marketplace has a path, a name that stands in its listings' memos, and files of its own.
MARKETS = {"art": "The art market", "games": "The games market"}
