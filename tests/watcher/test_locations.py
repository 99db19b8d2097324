"""Each form of metadata pointer that is met in the wild, and where it leads."""

import base64

import pytest

from marketplace.watcher.strangers.uri import Gateways, Inline, Inscription, TopicMessage, Web

pytestmark = pytest.mark.once("no statement is asked")

V0 = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG"
V1 = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
ARWEAVE = "bNbA3TEQVL60xlgCcqdz4ZPHFZ711cZ3hmkpGttDt_U"
GATEWAYS = Gateways(("http://one/ipfs/", "http://two/ipfs/"), ("http://weave/",))


def locate(uri):
    return GATEWAYS.locate(uri)


def ours(path):
    return tuple(f"{gateway}{path}" for gateway in GATEWAYS.ipfs)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        (f"ipfs://{V0}", V0),
        (f"ipfs://{V1}/7.json", f"{V1}/7.json"),
        (f"ipfs://ipfs/{V0}/7.json", f"{V0}/7.json"),
        (V0, V0),
        (f"{V0}/metadata/7.json", f"{V0}/metadata/7.json"),
        (f"https://ipfs.io/ipfs/{V0}/7.json", f"{V0}/7.json"),
        (f"https://x.mypinata.cloud/ipfs/{V0}/7.json?pinataGatewayToken=a", f"{V0}/7.json"),
        (f"https://{V1}.ipfs.dweb.link/7.json", f"{V1}/7.json"),
        (f"ipfs://{V0}/0292-Shrak#12.png", f"{V0}/0292-Shrak%2312.png"),
        (f"ipfs://{V0}/a b&c[1]+2.png", f"{V0}/a%20b%26c%5B1%5D%2B2.png"),
        (f"ipfs://{V0}/é.png", f"{V0}/%C3%A9.png"),
        (f"ipfs://{V0}/what?.png", f"{V0}/what%3F.png"),
        (f"ipfs://{V0}/../../admin", f"{V0}/admin"),
        (f"ipfs://{V0}/..%2F..%2Fadmin", f"{V0}/admin"),
    ],
)
def test_ipfs_goes_to_our_gateways(uri, path):
    location = locate(uri)
    assert tuple(address.url for address in location.addresses) == ours(path)
    assert all(address.is_ours for address in location.addresses)


@pytest.mark.parametrize(
    "uri", [ARWEAVE, f"ar://{ARWEAVE}", f"https://arweave.net/{ARWEAVE}", f"AR://{ARWEAVE}"]
)
def test_arweave_goes_to_our_gateways(uri):
    [address] = locate(uri).addresses
    assert address == (f"http://weave/{ARWEAVE}", True)


@pytest.mark.parametrize(
    ("uri", "url"),
    [
        ("https://nft.example/7.json", "https://nft.example/7.json"),
        ("https://nft.example/a b.json", "https://nft.example/a%20b.json"),
        ("HTTP://nft.example/7.json?x=1&y=2", "HTTP://nft.example/7.json?x=1&y=2"),
        ("https://nft.example/\ud800.json", "https://nft.example/.json"),
    ],
)
def test_other_addresses_stay_and_are_a_strangers(uri, url):
    assert locate(uri) == Web(((url, False),))


@pytest.mark.parametrize(
    ("uri", "location"),
    [
        ("hcs://1/0.0.5016827", Inscription("0.0.5016827")),
        ("0.0.5016827", Inscription("0.0.5016827")),
        ("1702922262.173894003", TopicMessage("1702922262.173894003")),
        ('data:application/json,{"name":"A%20B"}', Inline(b'{"name":"A B"}')),
        (
            "data:application/json;base64," + base64.b64encode(b'{"a":1}').decode(),
            Inline(b'{"a":1}'),
        ),
        ("data:;charset=utf-8;base64,e30=", Inline(b"{}")),
    ],
)
def test_what_the_ledger_or_the_uri_itself_holds(uri, location):
    assert locate(uri) == location


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "Unusable Metadata",
        "hcs://6/0.0.5",
        "ftp://nft.example/7.json",
        "javascript:alert(1)",
        "https://",
        "data:application/json;base64,a",
        "9223372036.854775808",  # beyond 63 bits of nanoseconds: mirror nodes answer it 503
        "\0",
    ],
)
def test_what_is_no_address_leads_nowhere(uri):
    assert locate(uri) is None
