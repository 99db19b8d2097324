"""The wheel: everything is inside, and it works in a new environment, beside a host's own files."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError

import pytest

import hiero_sandbox
from harness import serving
from harness.network import PATIENCE_SECONDS
from harness.postgresql import until
from harness.serving import BIN, ROOT, Service, reserved_port, run_program, run_python
from marketplace import __version__
from tests.system.documents import LOCAL
from tests.system.grpc_calls import ping

EMBEDDING = ROOT / "docs/embedding.md"
NEWER = ("3.12", "3.13", "3.14", "3.15")
KEYS = {"accountId": "0.0.1001", "tokenId": "0.0.7001", "serialNo": 7}


LIST_ONE = f"""
from marketplace import create_app
client = create_app(authenticate=lambda request, scope: True).test_client()
keys = {KEYS}
assert client.post("/v1/add", json=keys).json == {{"result": "OK"}}
prepared = client.post("/v1/list/extwallet", json=keys | {{"listingPrice": 5}}).json
to_sign = {{"accountId": keys["accountId"], "transaction": prepared["byteArray"]}}
signed = client.post("/sandbox/sign", json=to_sign).json
assert client.post("/sandbox/transactions", json=signed).json["result"] == "SUCCESS"
assert client.post("/v1/comingsoon", json=keys).json["result"] == "OK"
[nft] = client.get("/v1/orderbook").json
assert nft["imageUrl"].endswith(".webp")
print("1 listed")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the sdists of both distributions, and the wheels that are made from them."""
    folder = tmp_path_factory.mktemp("dist")
    source = tmp_path_factory.mktemp("source") / "clone"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*LOCAL), symlinks=True)
    for project in (source, source / "sandbox"):
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, project]
        run_program(*command, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    [path] = built.glob("nft_marketplace_service-*.whl")
    return path


@pytest.fixture(scope="module")
def sandbox_wheel(built):
    [path] = built.glob("hiero_sandbox-*.whl")
    return path


def make_environment(folder, python, *requirements):
    """An environment that holds these and nothing else; returns its programs' folder."""
    run_program(python, "-m", "venv", "--without-pip", folder, check=True)
    options = ["--quiet", "--python", folder / "bin/python", "-c", ROOT / "constraints.txt"]
    run_program(BIN / "uv", "pip", "install", *options, *requirements, check=True)
    return folder / "bin"


def find_python(version):
    """A Python of this version, on the path or where pyenv keeps those that are not; None where none is."""
    name = f"python{version}"
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/*/bin/{name}")
    for path in filter(None, [shutil.which(name), *kept]):
        if run_program(path, "--version").returncode == 0:
            return path
    return None


@pytest.fixture(scope="module")
def programs(wheel, sandbox_wheel, tmp_path_factory):
    """The programs of a new environment that holds the wheels."""
    return make_environment(tmp_path_factory.mktemp("env"), sys.executable, wheel, sandbox_wheel)


def environment(programs, **settings):
    """The environment of a host that has these programs, and nothing of the clone."""
    environ = serving.environment(**settings) | {"PATH": f"{programs}:/usr/bin:/bin"}
    del environ["PYTHONPATH"]
    return environ


@contextmanager
def served(programs, folder, *arguments):
    """gunicorn of the environment in a host's folder."""
    with reserved_port() as port:
        address = f"http://127.0.0.1:{port}"
        service = Service(folder, port, environment(programs, PUBLIC_URL=address))
        command = [programs / "gunicorn", "--bind", f"127.0.0.1:{port}", "--workers", "1"]
        with service.running([*command, *arguments]):
            yield service
    assert "Traceback" not in service.output


@pytest.mark.parametrize(
    ("name", "package", "beside"),
    [
        (f"nft_marketplace_service-{__version__}", ROOT / "marketplace", {"requirements.txt"}),
        (f"hiero_sandbox-{hiero_sandbox.__version__}", ROOT / "sandbox/hiero_sandbox", set()),
    ],
)
def test_everything_is_inside(built, name, package, beside):
    ours = {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = set(zipfile.ZipFile(built / f"{name}-py3-none-any.whl").namelist())
    assert ours <= inside
    with tarfile.open(built / f"{name}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert ours | {"README.md", "LICENSE"} | beside <= names
    top_level = {name.partition("/")[0] for name in inside}
    assert top_level == {package.name, f"{name}.dist-info"}


def test_its_metadata_says_what_it_needs(wheel):
    name = f"nft_marketplace_service-{__version__}.dist-info/METADATA"
    metadata = zipfile.ZipFile(wheel).read(name).decode()
    assert "\nRequires-Python: >=3.11\n" in metadata
    needed = re.findall(r"^([a-z0-9-]+)[<>=]", (ROOT / "requirements.txt").read_text(), re.M)
    pinned = re.findall(r"^([a-z0-9-]+)==", (ROOT / "constraints.txt").read_text(), re.M)
    assert set(needed) <= set(pinned)
    heading = "Unreleased" if "dev" in __version__ else __version__
    assert f"\n## [{heading}]" in (ROOT / "CHANGELOG.md").read_text()
    own = re.sub(r"^.*; extra ==.*$", "", metadata, flags=re.M)
    assert set(re.findall(r"^Requires-Dist: ([a-z0-9-]+)", own, re.M)) == set(needed)
    extras = re.findall(r"^Requires-Dist: (.*); extra == .([a-z]+).$", metadata, re.M)
    assert extras == [
        ("psycopg[binary]<4,>=3.3.1", "postgresql"),
        ("hiero-sandbox[relay]<0.3,>=0.2", "sandbox"),
        ("pillow<14,>=13", "sandbox"),
    ]


def test_a_production_service_has_no_trace_of_the_sandbox(wheel, tmp_path):
    programs = make_environment(tmp_path / "env", sys.executable, wheel)
    assert not [*programs.parent.rglob("hiero_sandbox*")]
    command = [
        programs / "python",
        "-c",
        "import marketplace; print(marketplace.create_app().url_map)",
    ]
    real = environment(programs, NETWORK="testnet", ACCOUNT_ID="0.0.9001")
    assert "/v1/orderbook" in run_program(*command, cwd=tmp_path, env=real, check=True).stdout
    serve = [programs / "flask", "--app", "marketplace", "run"]
    refused = run_program(*serve, cwd=programs, env=environment(programs))
    assert not (programs / "instance").exists()
    assert "pip install 'nft-marketplace-service[sandbox]'" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_sandbox_works_alone(sandbox_wheel, tmp_path):
    programs = make_environment(tmp_path / "env", sys.executable, sandbox_wheel)
    assert not [*programs.parent.rglob("marketplace*")]
    code = """
from hiero_sandbox.testing import serving
with serving() as sandbox:
    sandbox.give("0.0.1002", 1)
    print(len(sandbox.accounts()))
"""
    ended = run_program(programs / "python", "-c", code, cwd=tmp_path, env=environment(programs))
    assert ended.stdout == "31\n", ended.stderr


@pytest.fixture
def host(tmp_path):
    """A folder as a host's own: its app.py, its config package and its wsgi.py are not ours."""
    (tmp_path / "app.py").write_text("def create_app():\n    raise RuntimeError('the host')\n")
    (tmp_path / "config").mkdir()
    (tmp_path / "config/__init__.py").write_text("DEBUG = True\n")
    (tmp_path / "wsgi.py").write_text("raise RuntimeError('the host')\n")
    return tmp_path


def test_it_is_embedded_beside_a_hosts_own_files(programs, host):
    code = """
import app, config, marketplace
market = marketplace.create_app(authenticate=lambda request, scope: True)
print(app.__file__, config.DEBUG, market.test_client().get("/v1/orderbook").json)
print("/site-packages/" in marketplace.__file__)
"""
    ended = run_program(programs / "python", "-c", code, cwd=host, env=environment(programs))
    assert ended.stdout == f"{host}/app.py True []\nTrue\n", ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [("marketplace:create_app()",), ("-c", "python:marketplace.serving.gunicorn_config")],
    ids=["plain", "configured"],
)
def test_it_is_run_beside_a_hosts_own_files(programs, host, arguments):
    with served(programs, host, *arguments) as service:
        token = make_token(programs, host)
        assert service.call("/status", token=token)["version"] == __version__
        assert service.call("/v1/add", KEYS, token) == {"result": "OK"}
        with service.get("/reference") as page:
            assert b"reference.js" in page.read()


def block_of(name):
    """The lines of docs/embedding.md that set up an example and serve it, in a clone that has its wheel."""
    block_form = rf"^```sh\nmake wheel\ncd examples/{name}\n(.*?)^```$"
    [block] = re.findall(block_form, EMBEDDING.read_text(), re.M | re.S)
    return block.splitlines()


@pytest.fixture(scope="module")
def examples(built, tmp_path_factory):
    """A clone with its wheel, and one environment for all examples."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(built, folder / "dist")
    shutil.copy(ROOT / "constraints.txt", folder)
    left_out = shutil.ignore_patterns("instance", "*.db", ".venv", "__pycache__")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=left_out)
    make, install_wheel, *_ = block_of("flask")
    assert block_of("django")[:2] == [make, f"{install_wheel} django"]
    assert block_of("flask_login")[:2] == [make, f"{install_wheel} flask-login"]
    make = make.replace("python3 -m venv", f"{sys.executable} -m venv --without-pip")
    install_all = f"{install_wheel} django flask-login".replace(
        ".venv/bin/pip install", f"{BIN}/uv pip install -p .venv/bin/python"
    )
    home = folder / "examples/django"
    run_program("bash", "-c", f"set -e; {make}; {install_all}", cwd=home, check=True)
    for other in ("flask", "flask_login"):
        (folder / "examples" / other / ".venv").symlink_to(home / ".venv")
    return folder / "examples"


@contextmanager
def example(examples, name):
    home = examples / name
    *lines, serve = block_of(name)[2:]
    for line in lines:
        run_program("bash", "-c", line, cwd=home, env=environment(home / ".venv/bin"), check=True)
    with served(home / ".venv/bin", home, *serve.split()[1:]) as service:
        yield service


def test_the_django_example_runs_on_the_wheel(examples):
    with example(examples, "django") as service:
        with service.get("/") as home:
            assert home.read() == b"The shop of nobody yet"
        with pytest.raises(HTTPError, match="401"):
            service.get("/market/v1/orderbook")


def test_the_flask_login_example_runs_on_the_wheel(examples):
    with example(examples, "flask_login") as service:
        with service.get("/") as home:
            assert b"Log in" in home.read()
        with pytest.raises(HTTPError, match="401"):
            service.get("/market/v1/orderbook")


def test_the_flask_example_holds_two_marketplaces(examples):
    with example(examples, "flask") as service:
        with service.get("/") as home:
            assert b'<a href="/games/">The games market</a>' in home.read()
        art, games = (
            make_token(service.folder / ".venv/bin", service.folder, "read", DATABASE_URL=url)
            for url in (f"sqlite:///instance/{name}/marketplace.db" for name in ("art", "games"))
        )
        assert service.call("/art/v1/add", KEYS, art) == {"result": "OK"}
        nft = service.call("/art/v1/nft/0.0.7001/7", token=art)
        assert nft["imageUrl"].startswith("http://127.0.0.1:8000/art/media/")
        with pytest.raises(HTTPError, match="404"):
            service.call("/games/v1/nft/0.0.7001/7", token=games)
        with pytest.raises(HTTPError, match="401"):
            service.call("/games/v1/orderbook", token=art)
        [server] = service.call("/games/openapi.json", token=games)["servers"]
        assert server == {"url": "http://127.0.0.1:8000/games"}


def test_the_documented_command_begins_an_embedded_markets_node(examples):
    home = examples / "flask"
    [command] = re.findall(r"^\.venv/bin/flask .* sandbox node .*$", EMBEDDING.read_text(), re.M)
    address = home / "instance/art/sandbox-node"
    process = subprocess.Popen(
        ["bash", "-c", f"exec {command}"], cwd=home, env=environment(home / ".venv/bin")
    )
    try:
        until(lambda: address.exists() and address.read_text(), "the node did not begin")
        ping(int(address.read_text().rpartition(":")[2]))
    finally:
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0


def make_token(programs, folder, *scopes, **settings):
    """A token that may write, and has further scopes."""
    command = ["flask", "--app", "marketplace", "token", "create", "writer", "--scope", "write"]
    command += [option for scope in scopes for option in ("--scope", scope)]
    environ = environment(programs, **settings)
    return run_program(*command, cwd=folder, env=environ, check=True).stdout.strip()


@pytest.mark.parametrize("version", NEWER)
def test_it_works_on_newer_pythons(wheel, sandbox_wheel, tmp_path, version):
    python = find_python(version)
    if python is None:
        pytest.skip("needs a newer Python: those from 3.12 on are tried where they are found")
    programs = make_environment(tmp_path / "env", python, wheel, sandbox_wheel)
    command = [programs / "python", "-W", "error", "-c", LIST_ONE]
    ended = run_program(*command, cwd=tmp_path, env=environment(programs))
    assert ended.stdout == "1 listed\n", ended.stderr


def test_the_clones_schema_is_the_packages():
    assert Path(ROOT / "schema.sql").resolve() == ROOT / "marketplace/store/schema.sql"


def test_settings_of_the_clones_config_beat_the_environment(tmp_path):
    for name in ("app.py", "wsgi.py", "gunicorn.conf.py"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "config.py").write_text('SETTINGS = {"NAME": "The shop"}\n')
    code = "import app, wsgi; print({each.config['NAME'] for each in (wsgi.app, app.create_app())})"
    environ = os.environ | {"MARKETPLACE_NAME": "Another", "PYTHONPATH": str(ROOT)}
    assert run_python(code, cwd=tmp_path, env=environ) == "{'The shop'}\n"
