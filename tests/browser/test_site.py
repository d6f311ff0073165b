"""The whole site, made as `make docs` makes it, served, in a real Chromium."""

import functools
import http.server
import re
import threading

import pytest
from docs.making import contents
from docs.making.__main__ import make
from notebooks.making import address

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of its pages; a warning of Sphinx's is an error while it is made."""
    folder = tmp_path_factory.mktemp("site")
    assert make(folder) == 0
    return folder / "html"


@pytest.fixture(scope="module")
def address_of(site):
    """Where a page is served, on the loopback address."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield lambda page: f"http://127.0.0.1:{server.server_port}/{page}"
        server.shutdown()


@pytest.fixture
def page(chromium):
    context = chromium.new_context(viewport={"width": 1300, "height": 1000})
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    yield page
    context.close()
    assert page.complaints == []


def test_every_page_is_there_and_links_to_pages(site):
    for path in [*contents.pages(), address.ROOT / "index.md"]:
        assert (site / path.relative_to(address.ROOT)).with_suffix(".html").exists()
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert str(address.ROOT) not in text, path
        if "_static" not in path.parts:
            assert not re.search(r'href="(?!https?:|mailto:|#)[^"]*\.(md|ipynb|py)[#"]', text), path


def test_the_reference_has_each_name_with_its_example(address_of, page):
    page.goto(address_of("reference/xlascope.numpy.html"))
    entry = page.locator("dt[id='xlascope.numpy.einsum']")
    assert "".join(entry.inner_text().split()).startswith("einsum(subscripts,/,*operands,")
    assert "jnp.einsum(" in page.locator("dl:has(> dt[id='xlascope.numpy.einsum'])").inner_text()


def test_a_panel_in_a_page_is_alive(address_of, page):
    page.goto(address_of("docs/panel.html"))
    page.locator("figure.panel iframe").scroll_into_view_if_needed()
    panel = page.frame_locator("figure.panel iframe")
    panel.locator(".xs-nodes .xs-node[data-path]").first.click()
    panel.locator(".xs-node[aria-selected=true]").wait_for()
    page.screenshot(path=address.ROOT / "build/screenshots/site_panel.png")


def test_the_search_finds_a_name(address_of, page):
    page.goto(address_of("search.html?q=associative_scan"))
    page.locator("#search-results li").first.wait_for()
    assert "xlascope.lax" in page.locator("#search-results").inner_text()


def test_there_is_a_dark_mode(address_of, page):
    page.emulate_media(color_scheme="dark")
    page.goto(address_of("index.html"))
    page.locator("figure.panel iframe").wait_for()
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in re.findall(r"\d+", colour)[:3]) < 60
    page.screenshot(path=address.ROOT / "build/screenshots/site_dark.png")
