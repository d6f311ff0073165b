"""Every notebook in JupyterLab, as a reader opens it and runs all of it: no error, panels drawn, a picture kept."""

from pathlib import Path
from typing import Any

import pytest
from notebooks.making import address

WIDGET = "application/vnd.jupyter.widget-view+json"
FILES = address.notebook_files()

# "Run All" counts as done where a cell fails that may; the cells after it run all the same.
ALL_RAN = """() => window.xlascopeLab.panel.content.widgets.every(({model}) =>
    model.type !== 'code' || (model.executionCount !== null && model.executionState === 'idle'))"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_notebook_in_jupyterlab(path: Path, lab: Any) -> None:
    notebook = lab.copy(path)
    try:
        notebook.run_all()
        notebook.wait_idle(600)
        notebook.page.wait_for_function(ALL_RAN, timeout=600_000)
        cells = notebook.page.evaluate(
            """() => window.xlascopeLab.panel.content.widgets.map(cell => {
                const {type, executionCount, outputs} = cell.model;
                const tags = cell.model.getMetadata('tags') ?? [];
                return {type, executionCount, tags, outputs: outputs?.toJSON() ?? []};
            })"""
        )
        code = [(number, cell) for number, cell in enumerate(cells) if cell["type"] == "code"]
        assert all(cell["executionCount"] for _, cell in code)
        wrong = [output for _, cell in code for output in cell["outputs"] if is_wrong(output, cell["tags"])]
        assert wrong == []
        panels = [number for number, cell in code if any(is_panel(output) for output in cell["outputs"])]
        assert panels
        for number in panels:
            notebook.cell_output(number).locator(".xs-root").first.wait_for(timeout=60_000)
        assert notebook.errors == []
    finally:
        notebook.screenshot(f"every_notebook_{path.stem}")


def is_wrong(output: dict[str, Any], tags: list[str]) -> bool:
    """Whether a reader would ask what has gone wrong."""
    return (output["output_type"] == "error" or output.get("name") == "stderr") and "raises-exception" not in tags


def is_panel(output: dict[str, Any]) -> bool:
    """Whether an output is a panel: a widget, or the picture of one that becomes a panel."""
    data = output.get("data", {})
    return WIDGET in data or "<xlascope-panel" in "".join(data.get("text/html", ""))
