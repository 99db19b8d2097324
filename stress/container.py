"""Builds both images, runs them as an operator would, and prints what they cost: ``make container``, as root.

The base image is made by mmdebstrap from Debian's packages, unless BASE names another one. Python's packages
are downloaded here, by this machine's own settings, and the build takes them from a folder.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
BASE = os.environ.get("BASE")
EXTRAS = ["postgresql", "sandbox"]
IMAGE, OURS = "localhost/nft-marketplace", "localhost/nft-marketplace-base"
SANDBOX = "localhost/hiero-sandbox"
FILES = {IMAGE: "Containerfile", SANDBOX: "sandbox/Containerfile"}
SECONDS = 120  # for a start
# As few privileges as in compose.yml. It has no network: requests to it are made inside the container.
CONFINED = (
    *("--read-only", "--cap-drop=all", "--security-opt=no-new-privileges", "--network=none"),
    *("--cgroups=disabled", "--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096"),
)
# crun supports only version 2 of cgroups. If this machine has another one, a mount namespace hides it.
CGROUPS = 'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup && exec "$@"'
WITH_CGROUPS_2 = ("unshare", "--mount", "sh", "-c", CGROUPS, "sh")
HAS_CGROUPS_2 = Path("/sys/fs/cgroup/cgroup.controllers").exists()
STATUS, OPERATOR = "http://127.0.0.1:8000/status", "http://127.0.0.1:5551/api/v1/accounts/0.0.2"
ASK = """
import sys, time, urllib.request
while True:
    try:
        print(urllib.request.urlopen(sys.argv[1], timeout=8).read().decode())
        break
    except OSError:
        time.sleep(0.02)
"""
WRITE = """
import os
print(os.getuid())
for folder in ("/", "/opt/nft-marketplace", "/etc", "/var/lib/nft-marketplace", "/tmp"):
    try:
        open(f"{folder}/try", "w").close()
        print(folder)
    except OSError:
        pass
"""


class Podman:
    """podman with a store of its own."""

    def __init__(self, folder):
        self.command = ["podman", "--root", f"{folder}/store", "--runroot", f"{folder}/run"]
        self.command += ["--cgroup-manager=cgroupfs"]

    def __call__(self, *arguments, check=True, **options):
        environ = os.environ | {"DISABLE_HC_SYSTEMD": "true"}
        process = subprocess.run(
            [*self.command, *map(str, arguments)],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
            **options,
        )
        if check and process.returncode:
            sys.exit(f"podman {' '.join(map(str, arguments))}: {process.stdout}")
        return process.stdout if check else process


def main():
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    if os.getuid():
        sys.exit("Building and running a container needs root here: sudo make container")
    for name in ("podman", "mmdebstrap"):
        if not shutil.which(name):
            sys.exit(f"{name} is missing: apt-get install podman crun mmdebstrap")
    if not HAS_CGROUPS_2 and os.environ.get("CGROUPS") != "2":
        tried = subprocess.run([*WITH_CGROUPS_2, "true"], capture_output=True, text=True)
        if tried.returncode:
            return say_untried(tried.stderr)
        os.environ["CGROUPS"] = "2"
        os.execvp("unshare", [*WITH_CGROUPS_2, sys.executable, "-m", "stress.container"])
    with tempfile.TemporaryDirectory(prefix="container-") as folder:
        folder = Path(folder)
        folder.chmod(0o755)
        podman = Podman(folder)
        try:
            check(folder, podman)
        finally:
            podman("rm", "--all", "--force", "--time=5", check=False)
            podman("rmi", "--all", "--force", check=False)


def check(folder, podman):
    started = time.monotonic()
    base = BASE or make_base(folder, podman)
    tried = podman("run", "--rm", *CONFINED, base, "true", check=False)
    if tried.returncode:
        return say_untried(tried.stdout)
    say_seconds("The base", started)
    started = time.monotonic()
    build(folder, podman, base)
    say_seconds("The images", started)
    run(podman)
    run_sandbox(podman)


def say_untried(reason):
    print(f"This machine cannot run containers, so the image was not tried: {reason}")


def say_seconds(what, started):
    print(f"{what} took {time.monotonic() - started:.0f} s to make", flush=True)


def make_base(folder, podman):
    """Debian with Python, from this machine's own sources of packages."""
    sources = [path for path in Path("/etc/apt").glob("sources.list*") if path.is_file()]
    sources += Path("/etc/apt/sources.list.d").glob("debian.sources")
    settings = subprocess.check_output(["apt-config", "dump"], text=True).splitlines()
    ours = [line for line in settings if line.startswith(("Acquire::http", "Acquire::Check"))]
    (folder / "apt.conf").write_text("\n".join(ours) + "\n")
    release = dict(
        line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if line
    )
    subprocess.run(
        [
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            "--include=python3-venv,ca-certificates",
            f"--aptopt={folder}/apt.conf",
            release["VERSION_CODENAME"],
            folder / "base.tar",
            *sources,
        ],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    context = folder / "base"
    context.mkdir()
    (folder / "base.tar").rename(context / "base.tar")
    (context / "Containerfile").write_text("FROM scratch\nADD base.tar /\n")
    podman("build", "--isolation=chroot", "--tag", OURS, context)
    (context / "base.tar").unlink()
    return OURS


def build(folder, podman, base):
    wheels = folder / "wheels"
    pure = [sys.executable, "-m", "pip", "wheel", "--quiet", "--constraint=constraints.txt"]
    subprocess.run([*pure, f"--wheel-dir={wheels}", "--no-deps", "pyvips"], cwd=ROOT, check=True)
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--constraint=constraints.txt"]
    fetch += [f"--dest={wheels}", f"--find-links={wheels}", "--only-binary=:all:"]
    fetch += [f"--python-version={python_version(podman, base)}", "setuptools"]
    fetch += ["--requirement=requirements.txt", *extras()]
    subprocess.run(fetch, cwd=ROOT, check=True)
    (folder / "pip.conf").write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    for image, file in FILES.items():
        podman(
            *(
                "build",
                "--isolation=chroot",
                "--format=docker",
                "--tag",
                image,
                "--file",
                ROOT / file,
            ),
            *(
                "--build-arg",
                f"BASE={base}",
                "--build-arg",
                f"EXTRAS={','.join(EXTRAS)}",
                "--volume",
                f"{wheels}:/wheels:ro",
            ),
            *("--volume", f"{folder}/pip.conf:/etc/pip.conf:ro", ROOT),
        )
        size, of_base = (
            int(podman("image", "inspect", "--format={{.Size}}", name)) for name in (image, base)
        )
        print(f"{image}: {size / 1e6:.0f} MB, of which the base has {of_base / 1e6:.0f}")


def extras():
    """What the images' extras need, without the sandbox itself, which the build makes."""
    needs = []
    for file, names in (("pyproject.toml", EXTRAS), ("sandbox/pyproject.toml", ["relay"])):
        optional = tomllib.loads((ROOT / file).read_text())["project"]["optional-dependencies"]
        needs += [need for name in names for need in optional[name]]
    return [need for need in needs if not need.startswith("hiero-sandbox")]


def python_version(podman, base):
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    return podman("run", "--rm", *CONFINED, base, "python3", "-c", script).strip()


def run(podman):
    data = "data:/var/lib/nft-marketplace"
    started = time.monotonic()
    podman("run", "--detach", "--name=service", *CONFINED, "--volume", data, IMAGE)
    status = podman("exec", "service", "timeout", SECONDS, "python3", "-c", ASK, STATUS)
    print(f"Start: {time.monotonic() - started:.1f} s until the first answer")
    assert json.loads(status)["database"] == "reachable", status

    written = podman("exec", "service", "python3", "-c", WRITE).split()
    assert written == ["10001", "/var/lib/nft-marketplace", "/tmp"], written
    podman("healthcheck", "run", "service")
    podman("exec", "service", "python3", "-c", "import psycopg")
    podman("exec", "service", "flask", "token", "create", "shop")
    print(f"Memory: {memory(podman, 'service')} at rest")

    watch = ("flask", "watch")
    podman("run", "--detach", "--name=watch", *CONFINED, "--volume", data, IMAGE, *watch)
    until = time.monotonic() + SECONDS
    while "Following sandbox" not in podman("logs", "watch"):
        assert time.monotonic() < until, podman("logs", "watch")
        time.sleep(0.2)
    print(f"The watcher's memory: {memory(podman, 'watch')}")

    for name in ("watch", "service"):
        podman("stop", "--time=40", name)
        assert podman("inspect", "--format={{.State.ExitCode}}", name).strip() == "0", podman(
            "logs", name
        )
    print("It serves, is healthy, watches and stops, as user 10001 with a read-only root")


def run_sandbox(podman):
    started = time.monotonic()
    podman("run", "--detach", "--name=sandbox", *CONFINED, SANDBOX)
    account = podman("exec", "sandbox", "timeout", SECONDS, "python3", "-c", ASK, OPERATOR)
    print(f"The sandbox's start: {time.monotonic() - started:.1f} s until the first answer")
    assert json.loads(account)["account"] == "0.0.2", account
    print(f"The sandbox's memory: {memory(podman, 'sandbox')}")
    podman("stop", "--time=10", "sandbox")
    code = podman("inspect", "--format={{.State.ExitCode}}", "sandbox").strip()
    assert code == "0", podman("logs", "sandbox")


def memory(podman, name):
    """The memory of all processes of a container. A shared page is divided among those that share it."""
    own = podman("inspect", "--format={{.State.Pid}}", name).strip()
    space = os.readlink(f"/proc/{own}/ns/pid")
    kilobytes = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "ns/pid") == space:
                [line] = [
                    line
                    for line in (process / "smaps_rollup").read_text().splitlines()
                    if line.startswith("Pss:")
                ]
                kilobytes.append(int(line.split()[1]))
        except OSError:
            continue  # the process has ended
    return f"{sum(kilobytes) / 1000:.0f} MB in {len(kilobytes)} processes"


if __name__ == "__main__":
    main()
