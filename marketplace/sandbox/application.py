"""The sandbox beside a marketplace: a hiero_sandbox in which every id exists, with the demo's addresses."""

from pathlib import Path

from flask import Flask

from hiero_sandbox import application
from marketplace.sandbox import demo
from marketplace.sandbox.world import EveryId


def create_sandbox(
    path: str | Path | None,
    public_url: str = "http://127.0.0.1:8000/sandbox",
    signs_for: str | None = None,
) -> Flask:
    """Make the application. Its ledger is the file at the path, or in memory. EveryId explains ``signs_for``.

    Raises LedgerRefused.
    """
    world = EveryId(signs_for)
    sandbox = application.create_sandbox(path, public_url, world=world, accounts=None)
    sandbox.register_blueprint(demo.blp)
    return sandbox
