"""A mirror node that says how new its last block is, and nothing else: what preparing a listing asks."""

import json
import threading
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        moment = f"{time.time():.9f}"
        body = json.dumps({"blocks": [{"timestamp": {"from": moment, "to": moment}}]}).encode()
        self.send_response(200 if "/blocks?" in self.path else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args) -> None:
        """Do not log requests."""


@cache
def start() -> str:
    """Serve it in this process, until the process ends. Returns its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
