"""HAPI's result codes, ResponseCodeEnum: by name, and for faults of this machine."""

from collections.abc import Callable

from flask import current_app
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum

from marketplace.errors import DatabaseBusy, DatabaseUnusable
from marketplace.sandbox.ledger.envelopes import Refused
from marketplace.store.database_errors import DatabaseUnreadable, explained


def code(name: str) -> int:
    """The number of a result code."""
    return int(ResponseCodeEnum.Value(name))


def of_faults(work: Callable[[], str]) -> str:
    """The code that the work returns, or that of the refusal or the fault that stopped it.

    An SDK asks again after BUSY, and asks another node after PLATFORM_NOT_ACTIVE.
    """
    try:
        with explained():
            return work()
    except Refused as refusal:
        return str(refusal)
    except DatabaseBusy:
        return "BUSY"
    except (DatabaseUnusable, DatabaseUnreadable, OSError) as error:
        current_app.logger.warning("The sandbox's ledger cannot be used: %s", error)
        return "PLATFORM_NOT_ACTIVE"
    except Exception:
        current_app.logger.exception("A request of HAPI failed")
        return "FAIL_INVALID"
