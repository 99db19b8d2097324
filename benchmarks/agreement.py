"""Checks that all contenders give the same answers, before anything is measured."""

import json
from itertools import islice

from benchmarks import records
from benchmarks.bench import ORDERBOOK, Bench, remembered
from benchmarks.contenders import CONTENDERS

SAMPLES = 25


def require(bench: Bench) -> None:
    """Raise SystemExit if a contender's answer differs from the service's, or needs no access token."""
    plan, numbers = bench.plan, [*islice(records.everywhere(bench.plan.nfts), SAMPLES)]
    of_all = remembered(plan)[:: records.HOT // SAMPLES]
    of_peers = [f"{ORDERBOOK}?limit=20&offset={offset}" for offset in (40, *plan.offsets)]
    of_peers += map(records.nft_path, numbers)
    of_ours = [f"/v1/user/{records.owner(number)}/listed?offset=1" for number in numbers]
    service = bench.client("service")
    expected = {path: service.get(path) for path in (*of_all, *of_peers, *of_ours)}
    for name in bench.servers:
        title, _, is_ours, _ = CONTENDERS[name]
        client = bench.client(name)
        for path in (*of_all, *(of_peers if name != "bare" else ()), *(of_ours if is_ours else ())):
            answer = client.get(path)
            if is_ours and answer.link != expected[path].link:
                raise SystemExit(f"{title} links {path} to another page")
            if json.loads(answer.body) != json.loads(expected[path].body):
                raise SystemExit(f"{title} answers {path} differently")
        if name != "bare":
            bench.client(name, "nftm_of_a_stranger").get(ORDERBOOK, status=401)
