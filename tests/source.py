"""The source files of this repository."""

from harness.serving import ROOT

PACKAGES = (ROOT / "marketplace", ROOT / "sandbox/hiero_sandbox")
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
