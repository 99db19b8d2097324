"""The board of examples/grafana.json before a real Prometheus: its queries are asked, and drawn.

``python -m stress.board`` serves the sandbox for SECONDS, with a watcher, readers and a trader, lets
Prometheus read /metrics, and draws docs/board.webp of what it answers to the board's queries. It is not
Grafana's own picture: Debian has no Grafana.
"""

import argparse
import html
import json
import math
import random
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.network import PATIENCE_SECONDS, reserved_port
from tests.serving import ROOT, serve

BOARD = ROOT / "examples/grafana.json"
RULES = ROOT / "examples/alerts.yml"
COLOURS = ("#3274d9", "#e0752d", "#299c46", "#a352cc", "#d44a3a", "#8e8e8e", "#0a7f87", "#c4a300")
COLOURS += ("#705da0", "#58140c", "#e24d8f", "#6d8b00")
BUYERS = 9
FEE_BUDGET = 20  # HBAR, as on a real network, so that what was spent shows beside it
CONFIGURATION = """
global: {{scrape_interval: {seconds}s, evaluation_interval: {seconds}s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: marketplace
    authorization: {{credentials: {token}}}
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 12px; background: #f4f5f5; color: #24292e }}
body {{ font: 13px "Liberation Sans", sans-serif }}
main {{ display: grid; grid-template-columns: repeat(24, 1fr); gap: 8px }}
section {{ background: #fff; border: 1px solid #d8d9da; border-radius: 2px; padding: 8px; overflow: hidden }}
h2 {{ font-size: 13px; margin: 0 0 4px }} b {{ font-size: 28px; font-weight: 500 }}
p {{ margin: 4px 0 0; font-size: 11px; line-height: 1.4 }} svg {{ width: 100%; display: block }}
span {{ white-space: nowrap; margin-right: 8px }} i {{ font-style: normal }}
</style><main>{panels}</main>"""


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
    """Debian's Prometheus, which reads /metrics of a service every so many seconds."""
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
            wait_until(server.is_ready)
            yield server
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def wait_until(happens):
    started = time.monotonic()
    while not happens():
        assert time.monotonic() - started < PATIENCE_SECONDS
        time.sleep(0.2)


def queries(panel, rate_interval="30s"):
    """What a panel asks, and how it calls the answers."""
    for target in panel["targets"]:
        expression = target["expr"].replace("$instance", ".*")
        yield expression.replace("$__rate_interval", rate_interval), target["legendFormat"]


def call(service, path, body=None):
    token = (service.folder / "instance/sandbox-token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = body and json.dumps(body).encode()
    request = urllib.request.Request(f"{service.url}{path}", data=data, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
            return json.load(response)
    except OSError:
        return None


def trade(service, serial_no):
    """Add an NFT, prepare its listing, and now and then sign, submit and report it; and buy it likewise."""
    keys = {"accountId": "0.0.1001", "tokenId": "0.0.7001", "serialNo": serial_no}
    call(service, "/v1/add", keys)
    prepared = call(service, "/v1/list/extwallet", keys | {"listingPrice": 5 + serial_no})
    if sign_now_and_then(service, keys, prepared):
        keys["accountId"] = f"0.0.{1002 + serial_no % BUYERS}"
        sign_now_and_then(service, keys, call(service, "/v1/buy/extwallet", keys))


def sign_now_and_then(service, keys, prepared):
    """Sign, submit and report what was prepared, or do not; tells whether it was done."""
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


def draw(server, seconds):
    """The page of all panels, of what Prometheus answers."""
    end = time.time()
    panels = json.loads(BOARD.read_text())["panels"]
    return PAGE.format(panels="".join(_draw_panel(server, panel, end, seconds) for panel in panels))


def _draw_panel(server, panel, end, seconds):
    width = panel["gridPos"]["w"]
    unit = panel["fieldConfig"]["defaults"]["unit"]
    head = f'<section style="grid-column: span {width}"><h2>{html.escape(panel["title"])}</h2>'
    series = []
    for expression, legend in queries(panel):
        found = server.ask(expression, start=end - seconds, end=end, step=max(seconds // 120, 1))
        for one in found:
            name = legend
            for label, value in one["metric"].items():
                name = name.replace("{{" + label + "}}", value)
            values = [(float(at), float(value)) for at, value in one["values"] if value != "NaN"]
            series.append((name, values))
    series = [(name, values) for name, values in series if values]
    if panel["type"] == "stat":
        return (
            f"{head}<b>{_format(series[0][1][-1][1], unit) if series else 'No data'}</b></section>"
        )
    return f"{head}{_plot(series, end, seconds, unit, 85 * width)}</section>"


def _plot(series, end, seconds, unit, width):
    """Lines over time, and what they are called."""
    height, left, bottom = 190, 60, 18
    top = _round_up(max((value for _, values in series for _, value in values), default=0))
    lines = []
    for part in range(5):
        y = (height - bottom) * (1 - part / 4) + 6
        label = _format(top * part / 4, unit)
        lines.append(f'<line x1="{left}" x2="{width}" y1="{y}" y2="{y}" stroke="#e7e8e9"/>')
        lines.append(
            f'<text x="{left - 6}" y="{y + 4}" text-anchor="end" fill="#666">{label}</text>'
        )
    for part in (0, 0.5, 0.97):
        at = time.strftime("%H:%M:%S", time.gmtime(end - seconds * (1 - part)))
        x = left + (width - left) * part
        anchor = "end" if part > 0.9 else "start"
        lines.append(
            f'<text x="{x}" y="{height + 8}" text-anchor="{anchor}" fill="#666">{at}</text>'
        )
    for number, (_, values) in enumerate(series):
        points = " ".join(
            f"{left + (width - left) * (1 - (end - at) / seconds):.1f},"
            f"{6 + (height - bottom) * (1 - value / top):.1f}"
            for at, value in values
        )
        colour = COLOURS[number % len(COLOURS)]
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
        )
    names = " ".join(
        f'<span><i style="color: {COLOURS[number % len(COLOURS)]}">&#9644;</i> {html.escape(name)}</span>'
        for number, (name, _) in enumerate(series)
    )
    svg = f'<svg viewBox="0 0 {width} {height + 12}" font-size="11">{"".join(lines)}</svg>'
    return f"{svg}<p>{names or 'No data: nothing of it happened'}</p>"


def _round_up(value):
    """To what four parts of an axis are written with few digits."""
    if value <= 0:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return next(part * power for part in (1, 2, 4, 6, 8, 10) if part * power >= value)


def _format(value, unit):
    if unit == "bytes":
        return f"{value / 1e6:.1f} MB" if value >= 1e5 else f"{value / 1e3:.1f} kB"
    if unit == "s":
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.1f} s"
    if unit == "percentunit":
        return f"{value:.0%}"
    return f"{value:.3g}" + {"reqps": " req/s", "ops": " ops/s"}.get(unit, "")


def take_picture(page, target):
    """Let chromium show a page, and keep it as a WebP."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "board.html").write_text(page)
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1400,1290"]
        shot = f"--screenshot={folder}/board.png"
        command = ["chromium", *options, shot, f"file://{folder}/board.html"]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_SECONDS)
        with Image.open(f"{folder}/board.png") as image:
            image.convert("RGB").save(target, "WEBP", quality=80, method=6)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--into", type=Path, default=ROOT / "docs/board.webp")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        serving = serve(folder, "--workers", "2", SALE_FEE_BUDGET=FEE_BUDGET)
        with serving as service, prometheus(folder, service, 2) as server:
            command = ["flask", "--app", "wsgi", "watch"]
            watcher = subprocess.Popen(command, cwd=folder, env=service.environ)
            try:
                live(service, options.seconds)
                take_picture(draw(server, options.seconds), options.into)
            finally:
                watcher.terminate()
                watcher.wait(PATIENCE_SECONDS)
    print(f"Drew {options.into}")


def live(service, seconds):
    """Readers, and who sells and buys, for as long as is asked."""
    end, serial_nos = time.monotonic() + seconds, [1]

    def keep_reading():
        while time.monotonic() < end:
            read(service, serial_nos[-1])
            time.sleep(random.uniform(0.02, 0.2))

    readers = [threading.Thread(target=keep_reading) for _ in range(3)]
    for reader in readers:
        reader.start()
    while time.monotonic() < end:
        trade(service, serial_nos[-1])
        serial_nos.append(serial_nos[-1] + 1)
        time.sleep(random.uniform(0.2, 2))
    for reader in readers:
        reader.join()


if __name__ == "__main__":
    main()
