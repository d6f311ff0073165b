"""The extension that docks the panel: what JupyterLab reads of it, in an engine without a browser."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import quickjs

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "widgets/jupyter/labextensions/xlascope"
DESCRIPTION = json.loads((EXTENSION / "package.json").read_text())
BUILD = DESCRIPTION["jupyterlab"]["_build"]

#: A page with Lumino in two versions, of which one was loaded, and a shell that notes what is added to it.
PAGE = """
const log = [];
class Signal {
  slots = [];
  connect(slot) { this.slots.push(slot); }
  emit() { for (const slot of this.slots) slot(); }
}
class Widget {
  title = {};
  node = {style: {}, append(node) { log.push(`append ${node}`); }};
  disposed = new Signal();
  addClass(name) { this.name = name; }
  onCloseRequest() {}
  dispose() { this.disposed.emit(); log.push(`dispose ${this.id}`); }
}
const other = {get: () => { throw new Error("the other version") }};
const scope = {"@lumino/widgets": {"1.0": other, "2.0": {loaded: 1, get: async () => () => ({Widget})}}};
const open = (id, kernel) => (
  {id, title: {label: `${id}.ipynb`}, disposed: new Signal(), sessionContext: {session: {kernel: {id: kernel}}}}
);
const notebooks = [open("a", "k1"), open("b", "k2")];
const added = [];
const shell = {
  mode: MODE, widgets: () => notebooks, currentWidget: notebooks[0],
  add(widget, area, options = {}) {
    added.push(widget);
    log.push(`add ${widget.id} ${area} ${JSON.stringify(options)}`);
  },
  activateById(id) { log.push(`activate ${id}`); },
};
let failed = "", closed = 0;
const container = _JUPYTERLAB[NAME];
container.init(scope);
container.get(MODULE).then(factory => factory().default.activate({shell})).catch(error => { failed = error.message; });
"""


@pytest.fixture
def page() -> Any:
    """`page(mode)` is a page whose extension has started; `page(mode)(code)` gives what code gives in it."""

    def start(mode: str, module: str = BUILD["extension"]) -> Any:
        context = quickjs.Context()
        context.eval((EXTENSION / BUILD["load"]).read_text())
        names = {"MODE": mode, "NAME": DESCRIPTION["name"], "MODULE": module}
        context.eval("".join(f"const {name} = {json.dumps(value)};" for name, value in names.items()) + PAGE)
        while context.execute_pending_job():
            pass
        return lambda code: json.loads(context.eval(f"JSON.stringify({code})"))

    return start


def pinned(kernel: str) -> str:
    return (
        f"(globalThis.handle = __xlascope_dock({{node: 'node', kernel: '{kernel}', closed() {{ closed += 1; }}}}), log)"
    )


def test_it_is_small_and_of_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert DESCRIPTION["version"] == project["project"]["version"]
    assert (EXTENSION / BUILD["load"]).stat().st_size < 5_000
    (target,) = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"].values()
    assert target == f"share/jupyter/labextensions/{DESCRIPTION['name']}"


def test_a_panel_stands_beside_the_notebook_of_its_kernel(page: Any) -> None:
    run = page("multiple-document")
    beside = '{"mode":"split-right","ref":"b","activate":false}'
    assert run(pinned("k2")) == ["append node", f"add xlascope-dock-1 main {beside}"]
    assert run("[added[0].title.label, added[0].title.closable]") == ["xlascope · b.ipynb", True]
    assert run("(handle.close(), [closed, log.at(-1)])") == [0, "dispose xlascope-dock-1"]


def test_a_kernel_that_was_restarted_has_one_panel(page: Any) -> None:
    run = page("multiple-document")
    run(pinned("k1"))
    run(pinned("k2"))
    assert [line for line in run(pinned("k1")) if line.startswith("dispose")] == ["dispose xlascope-dock-1"]
    assert run("closed") == 0


@pytest.mark.parametrize("mode", ["single-document", ""])
def test_where_one_document_is_shown_it_stands_in_the_side_bar(page: Any, mode: str) -> None:
    log = page(mode)(pinned("unknown"))
    assert log == ["append node", "add xlascope-dock-1 right {}", "activate xlascope-dock-1"]


@pytest.mark.parametrize("closing", ["added[0].onCloseRequest()", "notebooks[0].disposed.emit()"])
def test_who_pinned_it_is_told_that_it_was_closed(page: Any, closing: str) -> None:
    run = page("multiple-document")
    run(pinned("k1"))
    assert run(f"({closing}, [closed, log.at(-1)])") == [1, "dispose xlascope-dock-1"]


def test_a_module_that_it_does_not_have_is_named(page: Any) -> None:
    assert "xlascope has no module ./style" in page("", module="./style")("failed")
