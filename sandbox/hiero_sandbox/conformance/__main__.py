"""The command ``python -m hiero_sandbox.conformance``."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from hiero_sdk_python.crypto.private_key import PrivateKey

from hiero_sandbox import testing
from hiero_sandbox.conformance import run
from hiero_sandbox.conformance.case import list_cases
from hiero_sandbox.conformance.network import Account, Network, NetworkFault
from hiero_sandbox.ids import TINYBARS, is_entity_id

OPERATOR = ("OPERATOR_ID", "OPERATOR_KEY")
ORDINARY = "0.0.1022"  # an account of the sandbox that pays fees, as 0.0.2 does not
SANDBOX_PATIENCE = 5  # seconds: its mirror node shows a transaction at once


@click.command()
@click.argument("words", nargs=-1)
@click.option(
    "--network",
    metavar="HOST:PORT[=ACCOUNT]",
    help="The node's gRPC, without TLS, and its account, 0.0.3. Without it, a sandbox is started.",
)
@click.option("--mirror", metavar="URL", help="The mirror node's REST: http://127.0.0.1:5551")
@click.option(
    "--operator",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with the lines OPERATOR_ID=0.0.x and OPERATOR_KEY=<DER or hexadecimal>."
    " Without it, they are read from the environment.",
)
@click.option("--patience", default=30, show_default=True, help="Seconds to wait for an answer.")
@click.option("--at-once", default=8, show_default=True, help="How many cases run at once.")
@click.option("--junit", metavar="FILE", type=click.Path(dir_okay=False), help="Write a report.")
@click.option("--list", "only_list", is_flag=True, help="List the cases, their rules and sources.")
def main(
    words: tuple[str, ...],
    network: str | None,
    mirror: str | None,
    operator: Path | None,
    patience: int,
    at_once: int,
    junit: str | None,
    only_list: bool,
) -> None:
    """Check whether a Hedera network keeps the rules that the sandbox keeps.

    WORDS choose cases whose subject or name has one of them. The exit code is 1 if a case fails.
    """
    cases = [case for case in list_cases() if not words or any(map(case.heading.count, words))]
    if only_list:
        for case in cases:
            click.echo(f"{case.heading}\n        {case.rule} ({case.source})")
        return
    results = []
    try:
        with connected(network, mirror, operator, patience) as tested:
            before = tested.balance()
            try:
                for result in run.run(cases, tested, at_once):
                    results.append(result)
                    click.echo(run.line(result))
            finally:
                tested.give_back()
            spent = before - tested.balance()
    except NetworkFault as fault:
        raise click.ClickException(str(fault)) from fault
    if junit:
        run.junit(results).write(junit)
    click.echo(f"{run.summary(results)}. They cost {spent / TINYBARS:.2f} HBAR")
    raise SystemExit(any(result.outcome == run.FAILED for result in results))


@contextmanager
def connected(
    network: str | None, mirror: str | None, operator: Path | None, patience: int
) -> Iterator[Network]:
    """The network of the options, or a new sandbox."""
    if network is None:
        with testing.serving() as sandbox, of_sandbox(sandbox) as tested:
            yield tested
        return
    if mirror is None:
        raise click.UsageError("--network needs --mirror")
    node, _, node_account = network.partition("=")
    account_id, key = read_operator(operator)
    with Network(node, node_account or "0.0.3", mirror, patience) as tested:
        try:
            tested.operator = Account(account_id, tested.find_key(account_id, key))
        except ValueError as error:
            raise click.ClickException(str(error)) from error
        yield tested


def of_sandbox(sandbox: testing.Sandbox) -> Network:
    """A running sandbox, with an operator who pays fees."""
    [known] = [each for each in sandbox.accounts() if each["accountId"] == ORDINARY]
    network = Network(sandbox.node, "0.0.3", sandbox.mirror, SANDBOX_PATIENCE)
    network.operator = Account(ORDINARY, PrivateKey.from_string_ed25519(known["privateKey"]))
    return network


def read_operator(file: Path | None) -> tuple[str, str]:
    """The operator's account and key, from a file of settings, or from the environment."""
    given = dict(os.environ)
    if file:
        lines = [line.removeprefix("export ").strip() for line in file.read_text().splitlines()]
        given = dict(line.split("=", 1) for line in lines if "=" in line)
    account_id, key = (given.get(name, "").strip("\"'") for name in OPERATOR)
    if not (is_entity_id(account_id) and key):
        place = file or "the environment, or a file given with --operator,"
        raise click.UsageError(f"{' and '.join(OPERATOR)} are missing in {place}")
    return account_id, key


if __name__ == "__main__":
    main(prog_name="python -m hiero_sandbox.conformance")
