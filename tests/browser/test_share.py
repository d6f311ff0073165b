"""The share menu in JupyterLab and Notebook 7: each of its buttons is pressed, and what arrives is looked at."""

from xml.etree import ElementTree

from tests.browser.saved_page import Opened
from tests.browser.test_export import samples  # noqa: F401 (a fixture)
from tests.browser.test_live import opened, run, set_up

STEP = "for _ in range(20): w = update(w, x).block_until_ready()"


def open_menu(panel):
    """Open the menu with the keyboard, in the menu of tools where it is in there."""
    menu = panel.locator(".xs-sharing summary")
    if not menu.is_visible():
        panel.locator("[data-command=more]").press("Enter")
    menu.press("Enter")


def press(panel, suffix):
    """Open the menu, and press one of its buttons."""
    open_menu(panel)
    panel.locator(f"[data-command='share {suffix}']").press("Enter")


def download(notebook, panel, suffix):
    """The name and the content of what a button downloads."""
    with notebook.page.expect_download() as arriving:
        press(panel, suffix)
    return arriving.value.suggested_filename, arriving.value.path().read_bytes()


def test_each_button_gives_what_it_says(front_end, windows, tmp_path):
    front_end.context.grant_permissions(["clipboard-read", "clipboard-write"])
    notebook = set_up(front_end, STEP, name="share.ipynb")
    run(notebook, 1)
    panel = opened(notebook.cell_output(1))
    told = panel.locator(".xs-count")
    press(panel, "txt")
    panel.locator(".xs-count:text-is('copied')").wait_for()
    assert notebook.page.evaluate("navigator.clipboard.readText()").startswith("traced update: ")
    assert panel.locator(".xs-sharing[open]").count() == 0
    name, svg = download(notebook, panel, "svg")
    assert name == "update.svg" and ElementTree.fromstring(svg).tag.endswith("}svg")
    panel.locator(".xs-count:text-is('saved update.svg')").wait_for()
    name, png = download(notebook, panel, "png")
    assert name == "update.png" and png.startswith(b"\x89PNG")
    name, page = download(notebook, panel, "html")
    assert name == "update.html" and told.get_attribute("role") == "status"
    (tmp_path / name).write_bytes(page)
    offline = Opened(windows, tmp_path)
    offline.open(tmp_path / name)
    offline.find(".xs-node[data-kind=equation]").first.wait_for()
    assert "update" in offline.find(".xs-strip").inner_text()
    offline.page.close()
    assert offline.complaints == []


def test_escape_closes_the_menu_and_a_click_beside_it(front_end):
    notebook = set_up(front_end, STEP, name="menu.ipynb")
    notebook.page.set_viewport_size({"width": 1800, "height": 900})
    run(notebook, 1)
    panel = opened(notebook.cell_output(1))
    menu, shown = panel.locator(".xs-sharing summary"), panel.locator(".xs-sharing[open]")
    open_menu(panel)
    notebook.screenshot("share_menu")
    panel.locator("[data-command='share png']").press("Escape")
    assert shown.count() == 0 and menu.evaluate("one => one === document.activeElement")
    panel.locator(".xs-search").click()  # closes the menu of tools, too
    open_menu(panel)
    panel.locator(".xs-detail").click()
    assert shown.count() == 0


def test_a_page_without_a_kernel_offers_no_menu(windows, tmp_path, samples):  # noqa: F811
    offline = Opened(windows, tmp_path)
    offline.show(samples.training_records())
    assert offline.find("[data-command=fit]").count() == 1
    assert offline.find(".xs-sharing, [data-command^=share]").count() == 0
    offline.page.close()
