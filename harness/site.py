"""Builds the documents as a site in build/site/html, with search and the API reference: ``make site``.

Its pages are the repository's own. A link to a file that is no page leads to the repository.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from harness.apps import settings
from harness.serving import BIN, ROOT
from marketplace import create_app

BUILD = ROOT / "build/site"
PAGES, HTML = BUILD / "pages", BUILD / "html"
IMAGES = {".webp", ".svg", ".png"}
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?(?=\))")
HOME = "http://127.0.0.1:8000"  # of make run, which the reference's forms call


def list_pages() -> list[str]:
    """The pages in the order of the site's navigation."""
    config = tomllib.loads((ROOT / "docs/zensical.toml").read_text())
    parts = [pages for part in config["project"]["nav"] for pages in part.values()]
    return [page for pages in parts if isinstance(pages, list) for page in pages]


def write_pages(repository: str) -> None:
    """Copy the pages, and the images that they show. ``repository``: the address of other files."""
    pages = list_pages()
    for page in pages:

        def link(match: re.Match[str], folder: Path = (ROOT / page).parent) -> str:
            path = (folder / match[1]).resolve().relative_to(ROOT)
            if str(path) in pages:
                return match[0]
            if path.suffix in IMAGES:
                write(path, (ROOT / path).read_bytes())
                return match[0]
            return f"{repository}/tree/HEAD/{path}"

        write(page, LINK.sub(link, (ROOT / page).read_text()).encode())


def write(path: str | Path, content: bytes) -> None:
    target = PAGES / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def write_reference() -> None:
    """Save the service's own reference and its OpenAPI document, with relative addresses."""
    with tempfile.TemporaryDirectory() as folder:
        options = settings(folder) | {"NETWORK": "testnet", "ACCOUNT_ID": "0.0.9001"}
        client = create_app(**options).test_client()
        page = client.get("/reference").text
        for path in {"openapi.json", *re.findall(r'"/(reference/assets/[^"]+)"', page)}:
            write(path, client.get(f"/{path}").data)
    for old, new in (
        ('"/reference/assets/', '"assets/'),
        ('"/openapi.json"', '"../openapi.json"'),
        ('href="/reference"', 'href="../index.html"'),
        ('data-root=""', f'data-root="" data-home="{HOME}"'),
    ):
        page = page.replace(old, new)
    write("reference/index.html", page.encode())


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def find_dead_links(folder: Path) -> list[str]:
    """The links inside the site that lead nowhere."""
    paths = [path for path in folder.rglob("*.html") if path.name != "404.html"]  # absolute links
    pages = {path: Page(path) for path in paths}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchors = pages[target].anchors if target in pages else {unquote(parts.fragment)}
            if not target.exists() or unquote(parts.fragment) not in anchors:
                dead.append(f"{path.relative_to(folder)}: {link}")
    return dead


def main(repository: str = "https://github.com/example/nft-marketplace") -> None:
    shutil.rmtree(BUILD, ignore_errors=True)
    write_pages(repository)
    write_reference()
    owner, name = repository.rsplit("/", 2)[1:]
    named = f'[project]\nsite_url = "https://{owner}.github.io/{name}/"\n'
    config = (ROOT / "docs/zensical.toml").read_text()
    (BUILD / "zensical.toml").write_text(config.replace("[project]\n", named, 1))
    subprocess.run([BIN / "zensical", "build", "--strict"], cwd=BUILD, check=True)
    if dead := find_dead_links(HTML):
        sys.exit("\n".join(["Dead links:", *dead]))


if __name__ == "__main__":
    main(*sys.argv[1:])
