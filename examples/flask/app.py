"""A site with pages of its own and two marketplaces. docs/embedding.md shows how to serve it."""

from flask import Flask
from werkzeug.middleware.dispatcher import DispatcherMiddleware

import config
from marketplace import create_app


def make_market(path: str) -> Flask:
    return create_app(
        NAME=config.MARKETS[path],
        PUBLIC_URL=f"{config.ADDRESS}/{path}",
        DATA_DIR=f"instance/{path}",
    )


site = Flask(__name__)


@site.get("/")
def show_home():
    links = [f'<a href="/{path}/">{name}</a>' for path, name in config.MARKETS.items()]
    return f"<title>{config.SITE}</title>{' '.join(links)}"


markets = {f"/{path}": make_market(path) for path in config.MARKETS}
site.wsgi_app = DispatcherMiddleware(site.wsgi_app, markets)
