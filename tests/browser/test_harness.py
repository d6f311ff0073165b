"""The harness itself: a tiny notebook with a widget, run, watched, interrupted, saved and reopened in JupyterLab."""

from typing import Any

import nbformat

WIDGET = '''
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = """
    function render({ model, el }) {
        const button = document.createElement("button");
        const write = () => { button.textContent = `count is ${model.get("value")}`; };
        button.onclick = () => { model.set("value", model.get("value") + 1); model.save_changes(); };
        model.on("change:value", write);
        write();
        el.append(button);
    }
    export default { render };
    """
    value = traitlets.Int(0).tag(sync=True)

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, "text/html": "<b>a counter</b>"}, metadata

counter = Counter()
counter
'''


def test_a_widget_talks_to_its_kernel_and_html_stands_in_for_it_where_it_is_not_trusted(
    lab: Any,
) -> None:
    notebook = lab.new(WIDGET, "print(counter.value)")
    notebook.run_cell(0)
    button = notebook.cell_output(0).get_by_role("button")
    button.click()
    button.get_by_text("count is 1").wait_for()
    notebook.wait_idle()
    notebook.run_cell(1)
    notebook.wait_idle()
    assert notebook.outputs(1) == [{"output_type": "stream", "name": "stdout", "text": "1\n"}]
    assert notebook.cell_output(1).inner_text().strip() == "1"
    take_pictures(notebook)
    assert notebook.errors == []
    notebook.save()
    assert nbformat.read(notebook.path, as_version=4).cells[0].outputs
    stranger = lab.reopen_untrusted(notebook)
    stranger.cell_output(0).get_by_text("a counter").wait_for()
    assert stranger.cell_output(0).get_by_role("button").count() == 0


def take_pictures(notebook: Any) -> None:
    pictures = {}
    for theme in ("dark", "light"):
        notebook.theme(theme)
        pictures[theme] = notebook.screenshot(f"harness_{theme}").read_bytes()
    assert all(picture.startswith(b"\x89PNG") for picture in pictures.values())
    assert pictures["dark"] != pictures["light"]


def test_cells_out_of_view_are_run_an_error_stops_them_and_so_does_an_interrupt(lab: Any) -> None:
    sleeps = "import time\nprint('on', flush=True)\ntime.sleep(600)"
    numbers = [f"print({index})" for index in range(40)]
    notebook = lab.new(*numbers, "raise ValueError('enough')", "print('not yet')", sleeps)
    notebook.run_all()
    notebook.wait_idle()
    assert notebook.cell_output(39).inner_text().strip() == "39"
    assert notebook.outputs(40)[0]["ename"] == "ValueError"
    assert notebook.outputs(41) == []
    notebook.run_cell(42)
    notebook.cell_output(42).get_by_text("on").wait_for()
    assert notebook.is_running(42)
    notebook.interrupt()
    notebook.wait_idle(30)
    assert any(output.get("ename") == "KeyboardInterrupt" for output in notebook.outputs(42))
    notebook.run_cell(41)
    notebook.wait_idle(30)
    assert "not yet" in notebook.cell_output(41).inner_text()
