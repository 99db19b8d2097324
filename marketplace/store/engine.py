"""What a database says of itself, and what follows from it: the same for every engine."""

from collections.abc import Mapping
from typing import NamedTuple

from marketplace.errors import command
from marketplace.store.database_errors import DatabaseOutdated, DatabaseUnreadable
from marketplace.store.schema import Schema


class Found(NamedTuple):
    """What a database says of itself."""

    version: int  # of its schema
    owners: dict[str, str]  # whose index it is, as far as it says so


def require_ours(name: str, found: Found, schema: Schema, owners: Mapping[str, str]) -> None:
    """Raise DatabaseUnreadable for a database of a newer version, or of another network or account."""
    if found.version > schema.version:
        raise DatabaseUnreadable(
            f"{name} is of a newer version (its schema is {found.version}, this version's is"
            f" {schema.version}): install that version, or name another database"
        )
    for owner, value in found.owners.items():
        if value != owners[owner]:
            raise DatabaseUnreadable(
                f"{name} is an index of {value}, and MARKETPLACE_{owner.upper()} is"
                f" {owners[owner]}: name another database"
            )


class Engine:
    """A database that was looked at. Its class makes it, and says how it is read and written."""

    name: str  # for sentences: without a password
    is_shared = False  # by several machines

    def __init__(self, name: str, schema: Schema, owners: Mapping[str, str] | None) -> None:
        """``owners`` says whose index it is: network and account."""
        self.name = name
        self.schema = schema
        self._owners = owners or {}
        self._found: Found

    @property
    def version(self) -> int:
        """The version of the schema that the database has."""
        return self._found.version

    @property
    def is_outdated(self) -> bool:
        return self.version < self.schema.version

    def require_current(self) -> None:
        """Raise DatabaseOutdated where the database is of an earlier version."""
        if self.is_outdated:
            raise DatabaseOutdated(
                f"{self.name} is of an earlier version (its schema is {self._found.version}, this"
                f" version's is {self.schema.version}): stop the service and the watcher, and run"
                f" {command('upgrade')}"
            )
