"""The README is run: its console blocks in one shell beside a server started as it says, its Python too."""

import json
import re
import shutil
import subprocess

import pytest
from werkzeug.test import Client

from tests.serving import ROOT

README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands(block):
    """Each command of a console block, with the output that is shown under it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output.strip()


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl (apt-get install curl)")
def test_the_console_blocks_print_what_they_show(service):
    folder, url, environ = service
    steps = [step for block in blocks("console") for step in commands(block)]
    assert len(steps) > 10
    marker = "--- next command ---"
    script = f"\necho; echo '{marker}'\n".join(command for command, _ in steps)
    script = script.replace("http://127.0.0.1:8000", url)
    shell = subprocess.run(
        ["bash"], input=script, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    printed = [part.strip() for part in shell.stdout.split(marker)]
    assert len(printed) == len(steps), shell.stderr
    for (command, shown), real in zip(steps, printed, strict=True):
        pattern = re.escape(shown.replace("http://127.0.0.1:8000", url)).replace(r"\.\.\.", ".*")
        assert re.fullmatch(pattern, real, re.DOTALL), f"$ {command}\n{real}\n{shell.stderr}"


def test_the_python_block_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [block] = blocks("python")
    namespace = {}
    exec(block, namespace)
    host = Client(namespace["application"])
    assert host.get("/").text == "The shop"
    assert host.get("/market/v1/orderbook").status_code == 401
    assert host.get("/market/v1/orderbook", headers={"X-Shop-User": "alice"}).status_code == 401
    signed = namespace["signer"].sign("alice").decode()
    assert host.get("/market/v1/orderbook", headers={"X-Shop-User": signed}).json == []


def test_the_error_shown_is_a_real_one(client):
    [block] = blocks("json")
    assert client.get("/v1/orderbook?limit=21").json == json.loads(block)


def test_the_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"(?:^|`)make ([a-z]+)", README, re.MULTILINE))
    assert {"run", "test", "wallets", "format"} <= targets
    for target in targets:
        assert f"\n{target}:" in makefile, target
