"""Each form of metadata pointer that is met in the wild, and where it leads."""

import base64

import pytest

from marketplace.watcher.strangers.uri import Gateways, Inline, Inscription, TopicMessage, Web

V0 = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG"
V1 = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
# The same CID in other bases
BASE58 = "zdj7WbTaiJT1fgatdet9Ei9iDB5hdCxkbVyhyh8YTUnXMiwYi"
BASE36 = "k2jmtxseqz17vx8ffmlc58tsq1ubnqqbu5ix7c9dvpyjdxcf1n5vp6rt"
BASE16 = "f01701220c3c4733ec8affd06cf9e9ff50ffc6bcd2ec85a6170004bb709669c31de94391a"
BASE64 = "uAXASIMPEcz7Ir_0Gz56f9Q_8a80uyFphcABLtwlmnDHelDka"
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
        (f"ipfs://{V0}/../../admin", f"{V0}/admin"),
        (f"ipfs://{V0}/..%2F..%2Fadmin", f"{V0}/admin"),
        (f"IPFS://{V0}/7.json", f"{V0}/7.json"),
        (f"ipfs:/{V0}/7.json", f"{V0}/7.json"),
        (f"ipfs:{V0}", V0),
        (f"ipfs:///{V0}", V0),
        (f"Ipfs:ipfs/{V0}", V0),
        (f"dweb:/ipfs/{V0}", V0),
        (f"ipfs/{V0}/7.json", f"{V0}/7.json"),
        (f"ipfs://{V1.upper()}/A.png", f"{V1}/A.png"),
        (f"ipfs://{BASE58}", BASE58),
        (BASE36, BASE36),
        (f"ipfs://{BASE36.upper()}/7.json", f"{BASE36}/7.json"),
        (f"ipfs://{BASE16}/7.json", f"{BASE16}/7.json"),
        (f"ipfs://{BASE16.upper()}", BASE16),
        (f"ipfs://{BASE64}", BASE64),
        (f"https://ipfs.io/ipfs/{BASE58}", BASE58),
        (f"https://{BASE36}.ipfs.dweb.link/", f"{BASE36}/"),
        (f"ipfs://{V0}?filename=7.json", V0),
        (f"{V0}?ext=png", V0),
        (f"ipfs://{V0}#7", V0),
        (f"ipfs.io/ipfs/{V0}/7.json", f"{V0}/7.json"),
        (f"//ipfs.io/ipfs/{V0}", V0),
        (f"HTTPS://IPFS.IO/ipfs/{V0}", V0),
        (f"{V1}.ipfs.nftstorage.link/7.json?x=1", f"{V1}/7.json"),
    ],
)
def test_ipfs_goes_to_our_gateways(uri, path):
    location = locate(uri)
    assert tuple(address.url for address in location.addresses) == ours(path)
    assert all(address.is_ours for address in location.addresses)


@pytest.mark.parametrize(
    ("uri", "paths"),
    [
        (f"ipfs://{V0}/what?.png", [f"{V0}/what%3F.png", f"{V0}/what"]),
        (f"ipfs://{V0}/7.png?ext=png", [f"{V0}/7.png%3Fext%3Dpng", f"{V0}/7.png"]),
    ],
)
def test_a_name_with_a_question_mark_is_tried_whole_then_cut(uri, paths):
    urls = [address.url for address in locate(uri).addresses]
    assert urls == [*ours(paths[0]), *ours(paths[1])]


@pytest.mark.parametrize(
    "uri",
    [
        ARWEAVE,
        f"ar://{ARWEAVE}",
        f"https://arweave.net/{ARWEAVE}",
        f"AR://{ARWEAVE}",
        f"ar:{ARWEAVE}",
        f"ar://{ARWEAVE}?ext=png",
        f"{ARWEAVE}?ext=png",
        f"HTTPS://Arweave.net/{ARWEAVE}?ext=png",
        f"https://k7zq.arweave.net/{ARWEAVE}",
        f"arweave.net/{ARWEAVE}",
    ],
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
        ("hcs://6/0.0.5016827", Inscription("0.0.5016827")),
        ("HCS://1/0.0.5016827/", Inscription("0.0.5016827")),
        ("1702922262.173894003", TopicMessage("1702922262.173894003")),
        ('data:application/json,{"name":"A%20B"}', Inline(b'{"name":"A B"}')),
        (
            "data:application/json;base64," + base64.b64encode(b'{"a":1}').decode(),
            Inline(b'{"a":1}'),
        ),
        ("data:;charset=utf-8;base64,e30=", Inline(b"{}", "utf-8")),
        ("DATA:;Base64,e30=", Inline(b"{}")),
        ("data:;base64,e30", Inline(b"{}")),
        ("data:;base64,e3 0\n", Inline(b"{}")),
        ("data:;base64,-_-_", Inline(b"\xfb\xff\xbf")),
        ("data:;base64,e30%3D", Inline(b"{}")),
        ('data:text/plain;charset="ISO-8859-1",%E9', Inline(b"\xe9", "iso-8859-1")),
    ],
)
def test_inscriptions_and_data_uris_are_located(uri, location):
    assert locate(uri) == location


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "Unusable Metadata",
        "hcs://7/0.0.5",
        "ftp://nft.example/7.json",
        "javascript:alert(1)",
        "https://",
        "data:application/json;base64,a",
        "9223372036.854775808",  # beyond 63 bits of nanoseconds: mirror nodes answer it 503
        "\0",
    ],
)
def test_an_invalid_address_leads_nowhere(uri):
    assert locate(uri) is None
