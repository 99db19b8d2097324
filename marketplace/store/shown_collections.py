"""The collections that a shop shows: all, the verified ones, or those of a list."""

from collections.abc import Iterable

from marketplace.store.connection import Connection

Shown = tuple[str, ...]  # as the setting STOREFRONT_COLLECTIONS has it
ALL: Shown = ("all",)
VERIFIED: Shown = ("verified",)
# Those whose names are still what the operator has verified.
_VERIFIED = """
    SELECT verified.token FROM decision JOIN collection AS verified ON verified.token = decision.id
    WHERE decision.kind = 'verified' AND verified.is_verified = 1
"""


def write_shown_condition(shown: Shown, column: str, parameters: dict[str, object]) -> str:
    """Write the SQL condition for a column with tokens, and add its parameters. For all, it is empty."""
    if shown == ALL:
        return ""
    if shown == VERIFIED:
        which = _VERIFIED
    else:
        named = {f"shown_{number}": token for number, token in enumerate(shown)}
        parameters |= named
        which = ", ".join(f":{name}" for name in named)
    # Each token is looked up on the way through an order: "|| ''" keeps planners from sorting instead.
    return f"AND {column} || '' IN ({which})"


def list_shown(db: Connection, shown: Shown, tokens: Iterable[str]) -> set[str]:
    """List those of these tokens whose collections are shown."""
    if shown == ALL:
        return set(tokens)
    if shown != VERIFIED:
        return set(tokens).intersection(shown)
    named = {f"token_{number}": token for number, token in enumerate(tokens)}
    sql = f"""
        SELECT token FROM collection
        WHERE token IN ({", ".join(f":{name}" for name in named)}) AND is_verified = 1
    """
    return {row["token"] for row in db.execute(sql, named)} if named else set()
