"""The panel's place: beside the notebook, or under a cell; through re-runs, and through the runs of a cell."""

from typing import Any

import pytest
from tests.browser.conftest import Lab, LabNotebook
from tests.browser.test_edited import EDIT
from tests.browser.test_faults import GEOMETRY
from tests.browser.test_live import SETUP, run, set_up

STEP = """@xs.jit
def step(w, x):
    return w - 0.01 * xs.grad(loss)(w, x)
for _ in range({times}): w = step(w, x).block_until_ready()"""
OTHER = "z = xs.jit(lambda x: jnp.cos(x))(x)"
ZOOM = ".xs-graph-svg > g"


class FullLab(Lab):
    """JupyterLab with all its tabs; a page of one document has none."""

    place = "lab/tree"


@pytest.fixture
def full_lab(chromium: Any, lab_server: Any) -> Any:
    lab = FullLab(lab_server, chromium)
    yield lab
    lab.close()


def dock(notebook: LabNotebook) -> Any:
    return notebook.page.locator(".xlascope-dock")


def opened(root: Any) -> None:
    """Open a panel, select its first kernel, choose a tab, and zoom in."""
    root.locator(".xs-open[aria-expanded=false]").click()
    root.locator(".xs-node[data-kind=equation]").first.wait_for()
    root.locator(".xs-kernel").first.click()
    root.locator(".xs-kernel.selected").first.wait_for()
    root.locator("[data-time='tab memory']").click()
    root.locator("[data-tab=passes]").click()
    graph = root.locator(".xs-graph-svg")
    graph.focus()
    graph.press("+")


def seen(root: Any) -> dict[str, Any]:
    """What a user made of a panel: what is selected, which tabs are chosen, and where the graph stands."""
    root.locator(".xs-node[data-kind=equation]").first.wait_for()
    return {
        "lines": root.locator(".xs-line.selected").count(),
        "tabs": root.locator(".xs-tab.on").all_inner_texts(),
        "boxes": root.locator(".xs-nodes .xs-node[data-kind=equation]").count(),
        "zoom": root.locator(ZOOM).first.get_attribute("transform"),
    }


def wait_for_cell(root: Any, number: int, name: str) -> None:
    root.locator(f".xs-strip:has-text('In[{number}]'):has-text('{name}'):has-text('ran ')").first.wait_for()


def beside(notebook: LabNotebook) -> None:
    """The dock and the notebook share the window, and neither lies on the other."""
    left = notebook.page.locator(".jp-NotebookPanel-notebook:visible").first.bounding_box()
    right = dock(notebook).bounding_box()
    assert left["width"] > 300 and right["width"] > 300 and left["x"] + left["width"] <= right["x"] + 1


def test_a_panel_is_pinned_beside_the_notebook_and_follows_the_cells(front_end):
    name = type(front_end).__name__.lower()
    notebook = set_up(front_end, STEP.format(times=20), OTHER, "1 + 1", name="place.ipynb")
    notebook.page.set_viewport_size({"width": 1440, "height": 900})
    run(notebook, 1)
    output = notebook.cell_output(1)
    opened(output)
    output.locator("[data-pin=pin]").click()
    panel = dock(notebook)
    wait_for_cell(panel, 2, "step")
    beside(notebook)
    before = seen(panel)
    assert before["lines"] and before["lines"] == seen(output)["lines"]
    panel.locator("[data-time='tab memory']").click()
    panel.locator(".xs-graph-svg").press("+")
    before = seen(panel)
    run(notebook, 2)
    wait_for_cell(panel, 3, "<lambda>")
    assert notebook.cell_output(2).locator(".xs-root").count() == 0
    run(notebook, 3)  # it does nothing
    assert "In[3]" in panel.locator(".xs-strip").first.inner_text()
    run(notebook, 1)  # the function is another one, of the same equations
    wait_for_cell(panel, 5, "step")
    assert seen(panel) == before
    for width, theme in ((1440, "light"), (1000, "light"), (1440, "dark"), (1000, "dark")):
        notebook.page.set_viewport_size({"width": width, "height": 900})
        if name == "lab":
            notebook.theme(theme)
        notebook.screenshot(f"place_{name}_{width}_{theme}")
        assert notebook.page.evaluate(f"({GEOMETRY})(document.querySelector('.xlascope-dock .xs-root'))") == []
    panel.locator("[data-pin=unpin]").click()
    panel.wait_for(state="detached")
    run(notebook, 1)
    notebook.cell_output(1).locator(".xs-strip:has-text('ran ')").wait_for()


@pytest.mark.slow
def test_the_magic_docks_the_panel_until_its_tab_is_closed(full_lab):
    notebook = full_lab.new(SETUP + "%scope pin", STEP.format(times=20), name="magic.ipynb")
    notebook.page.set_viewport_size({"width": 1440, "height": 900})
    notebook.run_all()
    panel = dock(notebook)
    notebook.wait_idle()
    wait_for_cell(panel, 2, "step")
    beside(notebook)
    assert "beside the notebook" in notebook.cell_output(0).inner_text()
    assert notebook.page.locator(".jp-NotebookPanel .xs-root").count() == 0
    notebook.screenshot("place_full")
    notebook.save()
    again = full_lab.reopen(notebook, keep_kernel=True)
    wait_for_cell(dock(again), 2, "step")
    run(again, 1)
    wait_for_cell(dock(again), 3, "step")
    again.page.locator(".lm-TabBar-tab:has-text('xlascope ·') .lm-TabBar-tabCloseIcon").click()
    dock(again).wait_for(state="detached")
    run(again, 1)
    again.cell_output(1).locator(".xs-strip:has-text('ran ')").wait_for()
    assert again.errors == []


def test_running_a_cell_again_closes_nothing_that_was_open_in_it(front_end):
    notebook = set_up(front_end, STEP.format(times=20), name="rerun.ipynb")
    run(notebook, 1)
    output = notebook.cell_output(1)
    opened(output)
    before = seen(output)
    assert before["lines"] and "memory" in before["tabs"] and "passes" in before["tabs"]
    for times in (20, 21):
        notebook.page.evaluate(EDIT, [1, STEP.format(times=times)])
        run(notebook, 1)
        output.locator(f".xs-strip b:text-is('{times}')").wait_for()
        assert output.locator(".xs-frame > .xs-panel").first.is_visible()
        assert seen(output) == before


def test_two_runs_of_a_cell_are_compared_by_a_click(front_end):
    notebook = set_up(front_end, STEP.format(times=20), name="runs.ipynb")
    for times in (20, 21, 22):
        notebook.page.evaluate(EDIT, [1, STEP.format(times=times).replace("0.01", f"0.0{times}")])
        run(notebook, 1)
    output = notebook.cell_output(1)
    runs = output.locator(".xs-run")
    runs.nth(2).wait_for()
    assert [words.split(":")[0] for words in runs.evaluate_all("all => all.map(one => one.title)")] == [
        "In[2]",
        "In[3]",
        "In[4]",
    ]
    head = output.locator(".xs-edited .xs-compare")
    runs.nth(0).click()
    head.wait_for()
    assert "step, In[2]" in head.inner_text() and "step, In[4]" in head.inner_text()
    assert output.locator(".xs-run.on").count() == 2
    notebook.screenshot(f"place_runs_{type(front_end).__name__.lower()}")
    runs.nth(1).click(modifiers=["Shift"])
    output.locator(".xs-edited .xs-compare:has-text('step, In[3]')").wait_for()
    assert "step, In[2]" in head.inner_text()
    assert output.locator(".xs-frame > .xs-panel").first.is_hidden()
    runs.nth(1).press("Enter")  # with the latest
    output.locator(".xs-edited .xs-compare:has-text('step, In[4]')").wait_for()
    notebook.page.keyboard.press("Enter")  # the focus stays
    assert output.locator(".xs-edited .xs-root").count() == 0
