"""gunicorn as the service sets it up, without what asks the service's own application."""

import runpy

_service = runpy.run_path("gunicorn.conf.py")
globals().update({name: value for name, value in _service.items() if not name.startswith("_")})


def when_ready(server):
    for listener in server.LISTENERS:
        _service["drop_silent_clients"](listener)
