"""The service in this process: made, called, and completed."""

import uuid
from contextlib import closing
from functools import lru_cache

from harness.cast import TESTNET
from harness.engines import copy_databases, database_url
from hiero_sandbox import database as ledger_database
from marketplace import create_app
from marketplace.services import services, write
from marketplace.store import access_tokens
from marketplace.watcher.enrichment import ENRICH, Enricher
from marketplace.watcher.strangers import decoder, reader


def settings(folder):
    return {"DATABASE_URL": database_url(folder), "DATA_DIR": str(folder)}


def copy_app(folder, **more):
    """Make the service on a copy of databases that were made once. It need not wait for its mirror node."""
    copy_databases(folder, _make_databases)
    app = create_app(MIRROR_NODE_RATE=10_000, **settings(folder), **more)
    app.extensions[ENRICH] = enriching(app)
    return app


def _make_databases(folder):
    app = create_app(**settings(folder))
    services(app).database.close()
    services(app).sandbox.app.extensions[ledger_database.KEY].close()


def on_testnet(folder, mirror_url="http://127.0.0.1:9", gateway_url="http://127.0.0.1:9", **more):
    """The service on a real network, with these servers for a mirror node and a gateway."""
    own = {"MIRROR_NODE_URL": mirror_url, "IPFS_GATEWAYS": f"{gateway_url}/ipfs"}
    return create_app(**settings(folder) | TESTNET | own | more)


def authorized_client(app, *scopes):
    """A client whose every request carries an access token with these scopes."""
    with app.app_context():
        token = access_tokens.create(f"test {uuid.uuid4()}", scopes, seconds=48 * 3600)
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    return client


def enriching(app):
    """What finds metadata and image as the watcher's processes do, in this one."""
    sandbox = services(app).sandbox
    adapters = sandbox.gateway_adapters if sandbox else dict
    resolver = reader.make_resolver(app.config, adapters)

    def find(pointer, limits):
        fetched, content = reader.fetch(resolver, pointer, limits.fetching)
        return fetched.with_image_of(_make_small(content)) if content else fetched

    return find


# An artwork takes a quarter of a second, and most tests have the same one.
_make_small = lru_cache(decoder.make_small)


def completing(app):
    """A function that completes what is due, as the watcher does, but in this process."""

    def complete():
        with closing(Enricher(app, enriching(app))) as enricher:
            return enricher.drain(60)

    return complete


def write_sql(app, sql, **values):
    """Write to the service's database what the service itself would not."""
    with app.app_context(), write() as db:
        db.execute(sql, values)
