"""The errors that a client receives. An error's class has everything that clients and documents know of it.

Raise each with the facts that its sentence needs. The sentence names the thing, and says what to do.
The tables in docs/api.md and in the OpenAPI document are generated from the classes.
"""

from marketplace.errors.base import *  # noqa: F403
from marketplace.errors.market import *  # noqa: F403
from marketplace.errors.requests import *  # noqa: F403
from marketplace.errors.service import *  # noqa: F403
