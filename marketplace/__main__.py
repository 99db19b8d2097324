"""``nft-marketplace``, and ``python -m marketplace`` in a clone: only our commands, without ``--app``."""

import click
from flask.cli import FlaskGroup

from marketplace import create_app
from marketplace.version import __version__

cli = FlaskGroup(
    name="nft-marketplace",
    help="Run and look after the NFT Marketplace Service.",
    create_app=create_app,
    add_default_commands=False,
    add_version_option=False,
)
click.version_option(__version__, package_name="nft-marketplace-service")(cli)


def main() -> None:
    cli.main(prog_name=cli.name)


if __name__ == "__main__":
    cli.main(prog_name="python -m marketplace")
