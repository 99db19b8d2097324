"""The relay between dApps and wallets, as WalletConnect's: messages that only those who paired can read.

It needs the extra ``hiero-sandbox[relay]``. It waits for many sockets, so it has a thread with an event loop
of its own, and doesn't take turns with what answers for the ledger.
"""

import asyncio
import socket
from io import StringIO
from threading import Event, Thread

PORT = 5555


def begin(listener: socket.socket) -> None:
    """Serve on a listening socket until the process ends."""
    from hiero_sandbox.relay.server import serve  # needs the extra

    is_served = Event()
    work = serve(listener, is_served)
    Thread(target=asyncio.run, args=(work,), name="relay", daemon=True).start()
    is_served.wait()


def find_address(host: str) -> str:
    """The address by which others in the network reach a host that listens on all addresses."""
    if host not in ("0.0.0.0", "::"):  # noqa: S104
        return host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def draw(text: str) -> str:
    """A QR code for a terminal, below an empty line."""
    import segno

    drawing = StringIO()
    segno.make(text, error="L").terminal(drawing, border=2, compact=True)
    return "\n\n" + drawing.getvalue()
