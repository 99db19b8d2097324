"""The board of examples/grafana.json with a real Prometheus, which reads /metrics while clients trade."""

import json
import random
import subprocess
import urllib.parse
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.network import PATIENCE_SECONDS, reserved_port
from harness.postgresql import until
from harness.serving import ROOT

BOARD = ROOT / "examples/grafana.json"
RULES = ROOT / "examples/alerts.yml"
BUYERS = 9
CONFIGURATION = """
global: {{scrape_interval: {seconds}s, evaluation_interval: {seconds}s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: marketplace
    authorization: {{credentials: {token}}}
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


class Prometheus:
    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"

    def get(self, path, **query):
        url = f"{self.url}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as response:
            return response.read()

    def ask(self, expression, **times):
        """The series of an expression: now, or over a range of times."""
        path = "/api/v1/query_range" if times else "/api/v1/query"
        answer = json.loads(self.get(path, query=expression, **times))
        assert answer["status"] == "success", answer
        return answer["data"]["result"]

    def is_ready(self):
        with suppress(OSError):
            return b"Ready" in self.get("/-/ready")
        return False


@contextmanager
def prometheus(folder, service, seconds=1):
    """Debian's Prometheus, which reads a service's /metrics every ``seconds`` seconds."""
    made = service.flask("token", "create", "prometheus", "--scope", "metrics")
    words = {"seconds": seconds, "rules": RULES, "port": service.port, "token": made.stdout.strip()}
    configuration = Path(folder) / "prometheus.yml"
    configuration.write_text(CONFIGURATION.format(**words))
    with reserved_port() as port, open(f"{folder}/prometheus.log", "w") as log:
        address = f"--web.listen-address=127.0.0.1:{port}"
        command = ["prometheus", f"--config.file={configuration}", address]
        process = subprocess.Popen(
            [*command, f"--storage.tsdb.path={folder}/data"], stdout=log, stderr=log
        )
        server = Prometheus(port)
        try:
            until(server.is_ready, "Prometheus does not start")
            yield server
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def queries(panel, rate_interval="30s"):
    """The expressions of a panel, each with the format of its legend."""
    for target in panel["targets"]:
        expression = target["expr"].replace("$instance", ".*")
        yield expression.replace("$__rate_interval", rate_interval), target["legendFormat"]


def call(service, path, body=None):
    with suppress(OSError):
        return service.call(path, body)


def trade(service, serial_no):
    """Add an NFT and list it, then buy it. What is prepared is not always signed."""
    keys = {"accountId": "0.0.1001", "tokenId": "0.0.7001", "serialNo": serial_no}
    call(service, "/v1/add", keys)
    prepared = call(service, "/v1/list/extwallet", keys | {"listingPrice": 5 + serial_no})
    if sign_mostly(service, keys, prepared):
        keys["accountId"] = f"0.0.{1002 + serial_no % BUYERS}"
        sign_mostly(service, keys, call(service, "/v1/buy/extwallet", keys))


def sign_mostly(service, keys, prepared):
    """Sign, submit and report what was prepared, in four of five cases; returns whether it was done."""
    if not prepared or random.random() > 0.8:
        return False
    content = {"accountId": keys["accountId"], "transaction": prepared["byteArray"]}
    call(service, "/sandbox/transactions", call(service, "/sandbox/sign", content))
    call(service, "/v1/comingsoon", keys)
    return True


def read(service, serial_no):
    paths = ["/v1/orderbook"] * 6 + ["/v1/user/0.0.1001/listed", "/v1/nftslisted/0.0.7001"] * 2
    paths += [f"/v1/nft/0.0.7001/{random.randint(1, serial_no + 3)}"] * 6 + [
        "/v1/orderbook?limit=x"
    ]
    call(service, random.choice(paths))
