"""The strip and the panel in JupyterLab and in Notebook 7: live, saved, and after the kernel has gone."""

import re

import pytest

SETUP = """%load_ext xlascope
import pathlib
import time
import numpy as np
import xlascope as xs
import xlascope.numpy as jnp

def loss(w, x):
    return jnp.sum(jnp.tanh(x @ w) ** 2)

@xs.jit
def update(w, x):
    return w - 0.01 * xs.grad(loss)(w, x)

w, x = np.ones((8, 4), np.float32), np.ones((16, 8), np.float32)
"""
# It runs until the test has seen enough of it.
LOOP = """until = time.time() + 120
while time.time() < until and not pathlib.Path("enough").exists():
    w = update(w, x)
    time.sleep(0.01)
"""
WIDGET = "application/vnd.jupyter.widget-view+json"


def words(output):
    return " ".join(output.locator(".xs-strip").last.inner_text().split())


def opened(output):
    """Open a panel by its strip, and wait for its graph."""
    output.locator(".xs-open").click()
    output.locator(".xs-node[data-kind=equation]").first.wait_for()
    return output.locator(".xs-panel")


def select(output):
    """Select the first kernel; linked views follow."""
    output.locator(".xs-kernel").first.click()
    output.locator(".xs-kernel.selected").wait_for()
    assert output.locator(".xs-line.selected").count()


def test_live_and_saved(front_end):
    enough = front_end.server.root / "enough"
    enough.unlink(missing_ok=True)
    notebook = front_end.new(SETUP, LOOP, "1 + 1", name="live.ipynb")
    notebook.run_cell(0)
    notebook.wait_idle()
    notebook.page.wait_for_timeout(300)
    notebook.run_cell(1)
    output = notebook.cell_output(1)
    output.locator(".xs-strip:has-text('running')").wait_for()
    first = words(output)
    panel = opened(output)
    output.locator(".xs-time").wait_for()  # where the time went so far
    select(output)  # the kernel is busy
    search = output.locator(".xs-search")
    search.fill("tanh")
    assert notebook.is_running(1)
    enough.touch()
    notebook.wait_idle()
    output.locator(".xs-strip:has-text('ran ')").wait_for()
    assert words(output) != first and panel.is_visible()
    assert search.input_value() == "tanh" and search.evaluate("it => it === document.activeElement")
    notebook.screenshot(f"live_{type(front_end).__name__.lower()}")
    (saved,) = [each["data"] for each in notebook.outputs(1) if "data" in each]
    assert set(saved) == {"text/html", "text/plain"}
    notebook.save()
    again = front_end.reopen(notebook)
    output = again.cell_output(1)
    output.locator("img").wait_for()
    assert output.locator("img").evaluate("image => image.complete && image.naturalWidth > 100")
    assert "Error" not in output.inner_text() and "Loading" not in output.inner_text()
    again.screenshot(f"live_trusted_{type(front_end).__name__.lower()}")
    stranger = front_end.reopen_untrusted(again)
    output = stranger.cell_output(1)
    output.locator("img").wait_for()
    assert "update" in output.locator("pre").last.text_content()


AGAIN = "for n in (2, 3, 4, 5): y = update(w, np.ones((n, 8), np.float32))"


def set_up(front_end, *cells, name):
    """A notebook whose first cell has run, and whose page has answered."""
    notebook = front_end.new(SETUP, *cells, name=name)
    run(notebook, 0)
    notebook.page.wait_for_timeout(300)
    return notebook


def run(notebook, index):
    notebook.run_cell(index)
    notebook.wait_idle()


@pytest.mark.slow
def test_a_page_that_is_loaded_again_shows_the_panels_of_its_kernel(front_end):
    notebook = set_up(front_end, "for _ in range(50): w = update(w, x)", name="again.ipynb")
    run(notebook, 1)
    notebook.save()
    again = front_end.reopen(notebook, keep_kernel=True)
    output = again.cell_output(1)
    output.locator(".xs-strip").wait_for()
    opened(output)
    select(output)
    again.run_cell(1)
    again.wait_idle()
    assert "ran 50 calls" in words(again.cell_output(1))


@pytest.mark.slow
def test_a_kernel_that_is_restarted_leaves_the_panels(front_end):
    notebook = set_up(front_end, "for _ in range(50): w = update(w, x)", "1 + 1", name="restarted.ipynb")
    run(notebook, 1)
    opened(notebook.cell_output(1))
    notebook.restart()
    output = notebook.cell_output(1)
    select(output)
    output.locator(".xs-search").fill("tanh")
    assert "13 of 15 equations fit" in output.locator(".xs-detail").inner_text()
    output.locator(".xs-open").click()
    assert output.locator(".xs-panel").is_hidden()
    notebook.screenshot(f"live_restarted_{type(front_end).__name__.lower()}")
    run(notebook, 0)
    notebook.page.wait_for_timeout(300)
    run(notebook, 1)
    opened(notebook.cell_output(1))


@pytest.mark.slow
def test_two_notebooks_have_panels_of_their_own(lab):
    one = set_up(lab, "y = update(w, x)", name="one.ipynb")
    two = set_up(lab, "z = xs.jit(lambda x: jnp.cos(x))(x)", name="two.ipynb")
    run(one, 1)
    run(two, 1)
    assert "traced update" in words(one.cell_output(1))
    assert "traced <lambda>" in words(two.cell_output(1))
    opened(one.cell_output(1))
    assert two.cell_output(1).locator(".xs-panel").is_hidden()


@pytest.mark.slow
def test_a_pinned_panel_follows_the_cells(front_end):
    """Where the page cannot dock it: under the cell that pins."""
    pin = "from xlascope_widgets.library import library\nlibrary().docks = False\n%scope pin"
    cells = (pin, "y = update(w, x)", "z = xs.jit(lambda x: jnp.cos(x))(x)", "raise ValueError('on purpose')")
    notebook = set_up(front_end, *cells, name="pinned.ipynb")
    run(notebook, 1)
    pinned = notebook.cell_output(1)
    pinned.locator(".xs-panel").wait_for()
    for index, name in ((2, "update"), (3, "<lambda>")):
        run(notebook, index)
        assert notebook.cell_output(index).locator(".xs-root").count() == 0
        notebook.cell_output(1).locator(f".xs-strip:has-text('In[{index + 1}]'):has-text('{name}')").wait_for()
        pinned.locator(".xs-node[data-kind=equation]").first.wait_for()
    notebook.screenshot(f"live_pinned_{type(front_end).__name__.lower()}")
    run(notebook, 4)
    assert "cos" in notebook.cell_output(1).locator(".xs-graph").inner_text()


@pytest.mark.slow
def test_the_recompile_card(front_end):
    notebook = set_up(front_end, AGAIN, "%recompiles", name="retraced.ipynb")
    run(notebook, 1)
    output = notebook.cell_output(1)
    why = output.locator(".xs-why.warn")
    why.wait_for()
    assert re.search(r"update traced again ×3( at In\[2\]:1)? · [\d.]+ m?s lost", why.inner_text())
    why.focus()
    why.press("Enter")
    rows = output.locator(".xs-why-row")
    assert rows.count() == 3
    first = " ".join(rows.first.inner_text().split())
    for part in ("trace 4", "In[2]:1", "x: f32[4,8] → f32[5,8]", "Pad or batch", "lost", "compile"):
        assert part in first, first
    notebook.screenshot(f"live_retraced_{type(front_end).__name__.lower()}")
    head = output.locator(".xs-why-head")
    assert head.evaluate("it => it === document.activeElement") and head.get_attribute("aria-expanded") == "true"
    head.press("Enter")
    assert rows.count() == 0
    run(notebook, 2)
    assert "update: traced again 3 times" in notebook.cell_output(2).inner_text()
    notebook.cell_output(2).locator("table").wait_for()
    notebook.screenshot(f"live_recompiles_{type(front_end).__name__.lower()}")


@pytest.mark.slow
def test_the_code_crosses_once(lab):
    received = []
    notebook = lab.new(SETUP, "y = update(w, x)", name="once.ipynb")

    def listen(socket):
        socket.on("framereceived", lambda frame: received.append(len(frame)))

    notebook.page.on("websocket", listen)
    notebook.page.reload(wait_until="domcontentloaded")
    notebook.wait_ready()
    run(notebook, 0)
    notebook.page.wait_for_timeout(300)
    assert sum(received) > 100_000
    for _ in range(3):
        received.clear()
        run(notebook, 1)
        notebook.cell_output(1).locator(".xs-strip:has-text('ran ')").wait_for()
        assert sum(received) < 60_000


@pytest.mark.slow
def test_a_page_that_does_not_mount_panels_gets_widgets(lab):
    """As where each output has a page of its own: there a panel finds the code through its widget manager."""
    alone = "from xlascope_widgets.library import library\nlibrary().mounted = False"
    notebook = set_up(lab, alone, "y = update(w, x)", name="alone.ipynb")
    run(notebook, 1)
    run(notebook, 2)
    output = notebook.cell_output(2)
    output.locator(".xs-strip:has-text('ran ')").wait_for()
    assert output.locator("xlascope-panel").count() == 0
    opened(output)
    select(output)
    (saved,) = [each["data"] for each in notebook.outputs(2)]
    assert set(saved) == {WIDGET, "text/html", "text/plain"}


@pytest.mark.slow
def test_a_front_end_that_asks_late_gets_pictures_to_save(lab):
    """Run All from the first cell on: the page may answer only after the first panels were shown."""
    notebook = lab.new(SETUP + "y = update(w, x)", "y = update(w, x)", "y = update(w, x)", name="late.ipynb")
    notebook.run_all()
    notebook.wait_idle()
    notebook.page.wait_for_timeout(3000)  # pictures of cells that compile nothing are drawn after a second
    for index in (1, 2):
        (saved,) = [each["data"] for each in notebook.outputs(index) if "data" in each]
        assert WIDGET not in saved and "<img" in saved["text/html"]
        notebook.cell_output(index).locator(".xs-strip").wait_for()
