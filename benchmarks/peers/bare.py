"""The server's own limit: a WSGI function that returns bytes that the service has answered before."""

import json
import os
from pathlib import Path

BODIES = {
    path: body.encode()
    for path, body in json.loads(Path(os.environ["BENCH_BODIES"]).read_text()).items()
}


def app(environ, start_response):
    body = BODIES[environ["PATH_INFO"]]
    start_response(
        "200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    )
    return [body]
