"""Starts the programs that meet strangers, without our environment."""

import os
import signal
import subprocess
import sys
from typing import Any

# The only variables of their environment: proxies, certificates, and where our code is.
PASSED_ON = {"http_proxy", "https_proxy", "no_proxy", "all_proxy", "ssl_cert_file", "ssl_cert_dir"}
PASSED_ON |= {"requests_ca_bundle", "curl_ca_bundle", "res_options", "ld_library_path"}
# Freed memory goes back to the system at once.
ALLOCATOR = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
# Signals that no stranger causes: the system is out of memory, or is stopping us.
ENDED_BY_OTHERS = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP)


def start(module: str, *arguments: str, **files: Any) -> subprocess.Popen[bytes]:
    """Start a module of ours, without our environment: that may hold passwords. Raises OSError."""
    kept = {name: value for name, value in os.environ.items() if name.lower() in PASSED_ON}
    kept["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(  # noqa: S603
        command, env=kept | ALLOCATOR, start_new_session=True, **files
    )
