"""How a handler refuses: with a result code."""


class Refused(Exception):
    """A result code other than OK."""
