"""The documents' site: all pages are in its navigation, and a link that leads nowhere is found."""

from harness import site
from harness.serving import ROOT
from harness.tables import PAGES


def test_every_page_is_in_the_navigation():
    listed = site.list_pages()
    assert len(listed) == len({*listed})
    pages = [path for pattern in PAGES for path in ROOT.glob(pattern)]
    assert {str(path.relative_to(ROOT)) for path in pages} <= {*listed}


def test_a_link_to_another_file_leads_to_the_repository(tmp_path, monkeypatch):
    monkeypatch.setattr(site, "PAGES", tmp_path)
    site.write_pages("https://forge.example/shop")
    api = (tmp_path / "docs/api.md").read_text()
    assert "(https://forge.example/shop/tree/HEAD/examples/postman.json)" in api
    assert "(quickstart.md)" in api and "(../clients/market/README.md)" in api
    assert (tmp_path / "benchmarks/results.svg").exists()


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="top"><a href="folder/page.html#here">.<a href="#top">.<a href="folder/gone.html">'
    )
    (tmp_path / "folder/page.html").write_text('<p id="here"><a href="../index.html#gone">.')
    assert {*site.find_dead_links(tmp_path)} == {
        "index.html: folder/gone.html",
        "folder/page.html: ../index.html#gone",
    }
