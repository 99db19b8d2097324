"""gunicorn with the service's configuration, without the hooks that need the service's application."""

import runpy

_service = runpy.run_path("gunicorn.conf.py")
globals().update({name: value for name, value in _service.items() if not name.startswith("_")})


def when_ready(server):
    for listener in server.LISTENERS:
        _service["drop_silent_clients"](listener)


def post_fork(server, worker):
    pass  # nor does it count


def child_exit(server, worker):
    pass
