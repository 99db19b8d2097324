"""Programs in namespaces of their own, where this machine has them."""

import shutil
import subprocess

import pytest

UNSHARE = ["unshare", "--user", "--map-root-user", "--net"]
needs_namespaces = pytest.mark.skipif(
    not shutil.which("ip")
    or not shutil.which("unshare")
    or subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode != 0,
    reason="needs network namespaces, where the kernel allows them (apt-get install iproute2 util-linux)",
)
