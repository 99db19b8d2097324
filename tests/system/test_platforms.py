"""Every requirement has a wheel for each system and Python on which the service installs."""

import pytest

from harness.serving import BIN, ROOT, run_program

SYSTEMS = ("manylinux_2_28", "unknown-linux-musl")


@pytest.mark.parametrize("python", ("3.11", "3.12", "3.13", "3.14"))
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("machine", ("aarch64", "x86_64"))
def test_no_requirement_is_built_from_source(machine, system, python, tmp_path):
    """uv resolves for another machine; pip would read the markers of the one that it runs on.

    pyvips is Python alone, without a wheel: libvips comes with pyvips-binary.
    """
    target = ["--python-platform", f"{machine}-{system}", "--python-version", python]
    command = [
        BIN / "uv",
        "pip",
        "install",
        "--dry-run",
        "--only-binary",
        ":all:",
        "--no-binary",
        "pyvips",
        *target,
    ]
    files = ["--target", tmp_path, "-r", ROOT / "requirements.txt", "-c", ROOT / "constraints.txt"]
    ended = run_program(*command, *files)
    assert ended.returncode == 0, ended.stderr
    assert ("pysqlite3" in ended.stderr) == (machine == "x86_64")
