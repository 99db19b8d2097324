"""The host names that the sandbox answers to, and those that its address book names."""

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import grpc
import pytest
from hiero_sdk_python.hapi.mirror.mirror_network_service_pb2 import AddressBookQuery
from hiero_sdk_python.hapi.services.basic_types_pb2 import NodeAddress

from hiero_sandbox.hapi.address import HOST
from sandbox.tests.command import running

NODES = "/com.hedera.mirror.api.proto.NetworkService/getNodes"
QUERY = AddressBookQuery(file_id={"fileNum": 102}).SerializeToString()
GITHUB, DESK = ".app.github.dev", "Desk.local"


@pytest.fixture(scope="module")
def ports():
    hosts = ("--allow-host", GITHUB, "--allow-host", DESK, "--node-host", "host.docker.internal")
    with running(*hosts) as (_, ports):
        yield ports


def ask(ports, host, path="/api/v1/network/nodes", body=None, **headers):
    headers["Host"] = host
    request = Request(f"http://{HOST}:{ports['rest']}{path}", body, headers)
    with urlopen(request, timeout=60) as answer:
        return answer.read()


@pytest.mark.parametrize(
    ("host", "address", "name"),
    [
        ("localhost", HOST, ""),
        ("127.0.0.1", HOST, ""),
        ("10.0.0.7:5551", "10.0.0.7", ""),
        ("[::1]:5551", "", "host.docker.internal"),
        ("sandbox:5551", "", "sandbox"),
        ("host.docker.internal:5551", "", "host.docker.internal"),
        ("host.testcontainers.internal", "", "host.testcontainers.internal"),
        ("a-5551.app.github.dev", "", "a-5551.app.github.dev"),
        ("desk.local:5551", "", "desk.local"),
    ],
)
def test_the_address_book_names_the_address_that_was_asked(ports, host, address, name):
    [node] = json.loads(ask(ports, host))["nodes"]
    assert node["service_endpoints"] == [
        {"domain_name": name, "ip_address_v4": address, "port": ports["node"]}
    ]


def test_the_address_book_over_grpc_web_has_the_host_that_was_asked(ports):
    frame = b"\0" + len(QUERY).to_bytes(4) + QUERY
    web = {"Content-Type": "application/grpc-web+proto"}
    content = ask(ports, "host.docker.internal", NODES, frame, **web)
    node = NodeAddress.FromString(content[5 : 5 + int.from_bytes(content[1:5])])
    assert [each.domain_name for each in node.serviceEndpoint] == ["host.docker.internal"]


def test_over_grpc_it_names_the_nodes_host(ports):
    with grpc.insecure_channel(f"{HOST}:{ports['mirror']}") as channel:
        [content] = channel.unary_stream(NODES)(QUERY, timeout=60)
    [endpoint] = NodeAddress.FromString(content).serviceEndpoint
    assert (endpoint.domain_name, endpoint.port) == ("host.docker.internal", ports["node"])


@pytest.mark.parametrize(
    "host", ["evil.example", "app.github.dev", "x.desk.local", "internal.example"]
)
def test_it_refuses_foreign_names(ports, host):
    with pytest.raises(HTTPError) as error:
        ask(ports, host)
    assert error.value.code == 421
    assert "--allow-host" in json.load(error.value)["message"]
