"""A cell that is edited and run again, and one whose function cannot be traced: what its strip says, in JupyterLab."""

import pytest

SETUP = """%load_ext xlascope
import xlascope as xs, xlascope.numpy as jnp, numpy as np
x = np.ones((256, 256), np.float32)"""

RUN = """@xs.jit
def step(x):
    h = jnp.tanh(x @ x)
    return {result}
for _ in range({times}):
    out = step(x).block_until_ready()"""

FAILS = """@xs.jit
def wrong(x):
    h = jnp.tanh(x)
    # the shapes do not fit
    return h @ jnp.ones((3, 4))
wrong(x)"""

EDIT = """([index, source]) => {
    window.xlascopeLab.panel.content.widgets[index].model.sharedModel.setSource(source);
}"""


def said(notebook, index):
    return " ".join(notebook.cell_output(index).locator(".xs-strip").first.inner_text().split())


@pytest.fixture
def edited(lab):
    """A notebook whose second cell ran, was changed, and ran again."""
    notebook = lab.new(SETUP, RUN.format(result="jnp.sin(h @ x).sum()", times=20), FAILS)
    for index in (0, 1):
        notebook.run_cell(index)
        notebook.wait_idle()
    assert "since the last run" not in said(notebook, 1) and " was " not in said(notebook, 1)
    notebook.page.evaluate(EDIT, [1, RUN.format(result="h.sum()", times=20)])
    notebook.run_cell(1)
    notebook.wait_idle()
    return notebook


def test_the_strip_compares_with_the_run_before(edited):
    output = edited.cell_output(1)
    output.locator("[data-compare]").wait_for()
    words = said(edited, 1)
    assert "fewer" in words or "other equations" in words, words
    assert "since the last run: " in words or " was " in words, words
    edited.screenshot("edited_strip")
    output.locator("[data-compare]").click()
    output.locator(".xs-edited .xs-compare-row").first.wait_for()
    assert output.locator(".xs-frame > .xs-panel").first.is_hidden()  # the strip's own panel stays closed
    rows = " ".join(output.locator(".xs-edited .xs-compare").inner_text().split())
    assert "sin" in rows and "step, In[2]" in rows and "step, In[3]" in rows
    edited.screenshot("edited_diff")
    output.locator("[data-compare]").click()
    assert output.locator(".xs-edited .xs-root").count() == 0
    edited.run_cell(1)  # nothing was edited: nothing is said
    edited.wait_idle()
    assert "fewer" not in said(edited, 1) and output.locator("[data-compare]").count() == 0
    assert edited.errors == []


def test_a_function_that_cannot_be_traced_has_a_card_at_its_line(lab):
    notebook = lab.new(SETUP, FAILS)
    notebook.run_cell(0)
    notebook.wait_idle()
    for number, theme in enumerate(("light", "dark"), start=2):
        notebook.theme(theme)
        notebook.run_cell(1)
        notebook.wait_idle()
        look_at_the_card(notebook, number, theme)
    assert notebook.errors == []


def look_at_the_card(notebook, number, theme):
    output = notebook.cell_output(1)
    card = output.locator(".xs-failed")
    card.wait_for()
    assert "TypeError" in said(notebook, 1) and "in wrong, line 5" in said(notebook, 1)
    assert card.locator(".xs-failed-line.bad").inner_text().split(maxsplit=1)[0] == "5"
    assert "h @ jnp.ones((3, 4))" in card.locator(".xs-failed-line.bad").inner_text()
    assert "# the shapes do not fit" in card.inner_text() and f"line 5 of In[{number}]" in card.inner_text()
    assert card.locator(".xs-failed-line.bad").bounding_box()["height"] < 50  # the line has the width that it needs
    for width in (700, 1400):
        notebook.page.set_viewport_size({"width": width, "height": 900})
        notebook.screenshot(f"failed_{width}_{theme}", output.locator(".xs-root"))
    card.locator("[data-close]").click()
    assert card.count() == 0
