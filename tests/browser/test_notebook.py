"""The first notebook in a real JupyterLab: what a reader sees, from Run All to the saved file."""

import json
import re
from pathlib import Path

import nbformat
import pytest
from tests.browser.conftest import group_by, use_tool

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks/01_see_a_training_step.ipynb"
MOST_SAVED = 2_000_000
EPOCHS = "range(60)"

CALL = "update(params, mean, square, step, train_images[:128], train_labels[:128])"

# What the graph of a panel is compared with: the same question, asked in the same kernel without a widget.
COUNT = f"""
import json
from xlascope import inspect
from xlascope.records import Traced

[traced] = [each for each in inspect.explore({CALL.replace("(", ", ", 1)}.records if isinstance(each, Traced)]
print(json.dumps({{"top": [each.path for each in traced.jaxpr.equations],
                  "all": [each.path for each in traced.jaxpr.walk()]}}))
"""

FOREVER = f"""
import time
began = time.monotonic()
while time.monotonic() < began + 60:
    params, mean, square, step = {CALL}
"""

RAISES = f"""
for call in range(300):
    params, mean, square, step = {CALL}
raise ValueError("the learning rate is a fruit")
"""

# The training cell runs and shows something, or else everything has ended, with an error before it.
TRAINS = """train => {
    const {panel, pending} = window.xlascopeLab;
    const [before, cell] = [panel.content.widgets.slice(0, train), panel.content.widgets[train].model];
    const waiting = before.some(other => other.model.type === 'code' && other.model.executionState === 'running');
    return pending === 0 || (cell.executionState === 'running' && !waiting && cell.outputs.length > 0);
}"""


def read():
    return nbformat.read(NOTEBOOK, as_version=4)


def position(text):
    """The number of the only code cell that contains this text."""
    [found] = [i for i, cell in enumerate(read().cells) if cell.cell_type == "code" and text in cell.source]
    return found


@pytest.fixture
def opened(lab):
    """A copy of the notebook without outputs, with one cell more at its end.

    It trains five times as long: on a fast machine the reader's own 600 steps end before a browser has looked twice.
    """
    content = read()
    for cell in content.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.source = cell.source.replace(EPOCHS, "range(300)")
    content.cells.append(nbformat.v4.new_code_cell(COUNT))
    path = lab.server.root / NOTEBOOK.name
    nbformat.write(content, path)
    return lab.open(path)


def words(output):
    return " ".join(output.locator(".xs-strip").last.inner_text().split())


def printed(notebook, cell):
    """What a cell printed, once that is there: JupyterLab may learn of the cell's end first."""
    model = "window.xlascopeLab.panel.content.widgets[index].model"
    has_stream = f"index => {model}.outputs.toJSON().some(output => output.output_type === 'stream')"
    notebook.page.wait_for_function(has_stream, arg=cell)
    return "".join(output["text"] for output in notebook.outputs(cell) if output["output_type"] == "stream")


def problems(notebook):
    """The red outputs: errors, and what was written to stderr."""
    outputs = notebook.page.evaluate(
        "() => window.xlascopeLab.panel.content.widgets.flatMap(cell => cell.model.outputs?.toJSON() ?? [])"
    )
    return [o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"]


def paths(output):
    return output.locator(".xs-node[data-kind=equation]").evaluate_all("nodes => nodes.map(node => node.dataset.path)")


def marked(output, selector, attribute):
    script = f"all => all.map(one => one.getAttribute('{attribute}'))"
    return set(output.locator(f"{selector}.selected").evaluate_all(script))


def at_top(notebook, output):
    """Scroll so that an output begins at the top of the window, as for reading it."""
    output.evaluate("element => element.scrollIntoView({block: 'start'})")
    notebook.page.wait_for_timeout(300)


def test_a_newcomer_runs_it(lab, opened):
    notebook, train = opened, position("for epoch in")
    notebook.run_all()
    watch_it_train(notebook, train)
    notebook.wait_idle()
    assert problems(notebook) == []
    accuracy = re.search(r"([\d.]+)% of digits", printed(notebook, position("def accuracy")))
    assert float(accuracy[1]) > 95
    counted = json.loads(printed(notebook, len(read().cells)))
    look_around(notebook, position("%explore"), counted)
    open_and_select(notebook, train)
    bars_are_marked(notebook)
    take_pictures(notebook, train)
    find_it_calm(notebook)
    notebook.save()
    assert notebook.path.stat().st_size < MOST_SAVED
    read_as_a_stranger(lab.reopen_untrusted(notebook), train)


def watch_it_train(notebook, train):
    notebook.page.wait_for_function(TRAINS, arg=train, timeout=90_000)
    assert problems(notebook) == []
    output = notebook.cell_output(train)
    strip = output.locator(".xs-strip:has-text('running')")
    strip.wait_for()
    first = words(output)
    notebook.page.wait_for_timeout(1200)
    second = words(output)
    assert notebook.is_running(train), second
    notebook.screenshot("notebook_strip_running")
    assert first != second, first
    assert "update" in second and re.search(r"[\d,]+ calls", second)


def look_around(notebook, cell, counted):
    """Every equation is one node, at the top level and when everything is open."""
    output = notebook.cell_output(cell)
    panel = output.locator(".xs-root").last
    assert 10 <= len(paths(panel)) <= 30  # the first sight
    group_by(panel, "none")
    assert sorted(paths(panel)) == sorted(counted["top"])
    use_tool(panel, "expand")
    assert sorted(paths(panel)) == sorted(counted["all"])
    assert len(counted["all"]) > len(counted["top"])
    panel.locator("[data-command=fit]").click()
    at_top(notebook, panel)
    notebook.screenshot("notebook_explore_all_open")
    use_tool(panel, "collapse")
    assert len(paths(panel)) == len(counted["top"])


def open_and_select(notebook, train):
    """An equation marks its line and its kernel."""
    output = notebook.cell_output(train)
    output.locator(".xs-open").click()
    group_by(output, "none")
    click_on(output, "tanh")
    [line] = output.locator(".xs-line.selected").all()
    assert "jnp.tanh(jnp.dot(activations, w) + b)" in line.inner_text()
    colour = line.evaluate("line => getComputedStyle(line).backgroundColor")
    red, green, blue = (float(part) for part in re.findall(r"[\d.]+", colour)[:3])
    assert red > green > blue  # amber
    [kernel] = marked(output, ".xs-kernel", "data-kernel")
    assert "tanh" in kernel


def bars_are_marked(notebook):
    """And its bars, where the profiler saw a whole call: a window into a running loop may have cut it."""
    output = notebook.cell_output(position("%timings"))
    group_by(output, "none")
    click_on(output, "tanh")
    [kernel] = marked(output, ".xs-kernel", "data-kernel")
    assert marked(output, ".xs-hot tr", "data-kernel") == {kernel}, "the table that was asked for"
    output.locator("[data-time='tab timeline']").click()
    assert marked(output, "rect.xs-bar", "data-kernel") == {kernel}, output.locator(".xs-timeline").inner_text()
    assert len(marked(output, ".xs-line", "data-line")) == 1
    output.locator(".xs-graph-svg").press("Escape")
    assert output.locator(".xs-panel .selected").count() == 0


def click_on(output, name):
    """Click the first equation of this name, wherever it lies in the graph."""
    title = output.page.locator("text.xs-title", has_text=re.compile(f"^{name}$"))
    node = output.locator(".xs-node[data-kind=equation]").filter(has=title).first
    node.dispatch_event("pointerdown", {"button": 0})
    node.dispatch_event("pointerup", {"button": 0})
    assert marked(output, ".xs-node", "data-path") == {node.get_attribute("data-path")}


def find_it_calm(notebook):
    """A cell that runs nothing shows nothing; the others show one line, which names what the reader wrote."""
    for text in ("importlib", "%jaxpr swish", "%jaxpr grad", "load_digits"):
        output = notebook.cell_output(position(text))
        notebook.page.wait_for_timeout(100)
        assert output.locator(".xs-root").count() == 0, text
    for text, name in {"def nudged": "loss", "per_example =": "loss", "def accuracy": "accuracy"}.items():
        output = notebook.cell_output(position(text))
        output.locator(".xs-strip").wait_for()
        assert f"traced {name}" in words(output)
        assert output.locator(".xs-strip").bounding_box()["height"] < 36
        assert output.locator(".xs-panel").is_hidden()


def take_pictures(notebook, train):
    for name, cell in {"training": train, "fusions": position("%fusions"), "timings": position("%timings")}.items():
        output = notebook.cell_output(cell)
        at_top(notebook, output)
        notebook.screenshot(f"notebook_{name}_light")
    notebook.page.set_viewport_size({"width": 1280, "height": 1200})
    output = notebook.cell_output(train)
    group_by(output, "auto")
    output.locator(".xs-node.group.pass-forward").filter(has_text="tanh").first.click()
    at_top(notebook, output)
    notebook.screenshot("notebook_panel", output.locator(".xs-root"))
    notebook.page.set_viewport_size({"width": 1280, "height": 900})
    notebook.theme("dark")
    output = notebook.cell_output(train)
    output.locator(".xs-root.dark").wait_for()
    at_top(notebook, output)
    notebook.screenshot("notebook_training_dark")
    notebook.theme("light")


def read_as_a_stranger(notebook, train):
    for cell in (train, position("%explore"), position("%fusions"), position("%timings")):
        output = notebook.cell_output(cell)
        picture = output.locator("img").last
        picture.wait_for()
        assert picture.evaluate("image => image.complete && image.naturalWidth > 600")
        assert "update" in output.locator("pre").last.text_content()
        assert output.locator(".xs-root").count() == 0
        if cell == train:
            at_top(notebook, output)
            notebook.screenshot("notebook_untrusted")


def test_stopping_and_failing_leave_everything_in_order(lab):
    names = ("import xlascope as xs", "def init_network", "load_digits", "def update")
    setup = [read().cells[position(name)].source.split("%explore")[0] for name in names]
    notebook = lab.new(*setup, FOREVER, RAISES, "print(float(step) > 0)", name="stopped.ipynb")
    loop, raises, after = len(setup), len(setup) + 1, len(setup) + 2
    for cell in range(loop):
        notebook.run_cell(cell)
        notebook.wait_idle()
    notebook.run_cell(loop)
    output = notebook.cell_output(loop)
    output.locator(".xs-strip:has-text('running')").wait_for(timeout=60_000)
    output.locator(".xs-open").click()
    output.locator(".xs-node[data-kind=equation]").first.wait_for()
    notebook.page.wait_for_timeout(1000)
    notebook.interrupt()
    notebook.wait_idle(20)
    assert [o["ename"] for o in notebook.outputs(loop) if o["output_type"] == "error"] == ["KeyboardInterrupt"]
    stopped = words(output)
    assert re.search(r"ran [\d,]+ calls", stopped) and "KeyboardInterrupt" in stopped
    assert 10 <= len(paths(output)) <= 30
    output.locator(".xs-kernel").first.click()
    assert output.locator(".xs-kernel.selected").count() == 1
    notebook.screenshot("notebook_interrupted")
    notebook.run_cell(raises)
    notebook.wait_idle()
    output = notebook.cell_output(raises)
    assert "the learning rate is a fruit" in output.inner_text()
    told = words(output)
    assert "ValueError" in told and "update" in told and "ran 300 calls" in told
    output.locator(".xs-open").click()
    assert "the learning rate is a fruit" in output.locator(".xs-notes").inner_text()
    at_top(notebook, output)
    notebook.screenshot("notebook_raised")
    notebook.run_cell(after)
    notebook.wait_idle()
    assert printed(notebook, after) == "True\n"
