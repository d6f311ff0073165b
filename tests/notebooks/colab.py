"""A kernel and a front end of Colab's shape, as far as is publicly known; Colab itself cannot be reached by tests.

Of the kernel: its package is there and imported, its variables are set, `input()` can be answered, and no JupyterLab
extension has been heard of. Of the front end: each output is a page of its own, in a sandboxed frame of no origin, and
the manager of widgets in it makes models when they are asked for, from the states that the kernel holds.
"""

from __future__ import annotations

import html
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from notebooks.making.running import SECONDS_PER_CELL, ThisPython

STAND_IN = Path(__file__).parent / "stand_in"
VARIABLES = {"COLAB_RELEASE_TAG": "release-colab-stand-in", "COLAB_GPU": "", "COLAB_BACKEND_VERSION": "next"}
WIDGET = "application/vnd.jupyter.widget-view+json"


class Colab(NotebookClient):
    """Runs a notebook there; ``widget_state`` holds the states of its widgets afterwards, by their numbers."""

    async def async_start_new_kernel_client(self, **more: Any) -> Any:
        client = await super().async_start_new_kernel_client(**more)
        client.allow_stdin = True  # a page is there, which can ask its reader
        return client


def run(notebook: Any, folder: Path) -> dict[str, Any]:
    """Run every cell; returns the states of widgets."""
    with tempfile.TemporaryDirectory() as home:
        startup = Path(home, "ipython/profile_default/startup")
        startup.mkdir(parents=True)
        (startup / "colab.py").write_text("import google.colab")
        path = os.pathsep.join([str(STAND_IN), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | VARIABLES | {"PYTHONPATH": path, "IPYTHONDIR": str(Path(home, "ipython"))}
        environment.pop("MPLBACKEND", None)
        manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=ThisPython())
        resources = {"metadata": {"path": str(folder)}}
        client = Colab(notebook, km=manager, timeout=SECONDS_PER_CELL, resources=resources)
        client.execute(env=environment)
    return dict(client.widget_state)


def page_of(outputs: list[Any], states: dict[str, Any]) -> str:
    """One page in which each of these outputs is a frame."""
    style = "width:100%;height:520px;border:0"
    frame = '<iframe sandbox="allow-scripts" style="{}" srcdoc="{}"></iframe>'
    return "".join(frame.format(style, html.escape(_frame(each, states))) for each in outputs)


def _frame(output: Any, states: dict[str, Any]) -> str:
    data = output.get("data", {})
    if WIDGET in data:
        model = data[WIDGET]["model_id"]
        known = {model, states[model]["library"]}
        given = json.dumps({number: states[number] for number in known}).replace("</", "<\\/")
        return _WIDGET_PAGE % (given, json.dumps(model))
    if "text/html" in data:
        return str(data["text/html"])
    if "image/png" in data:
        return f'<img src="data:image/png;base64,{data["image/png"]}">'
    return f"<pre>{html.escape(output.get('text') or data.get('text/plain', ''))}</pre>"


#: What a manager of widgets does for one: models are made when they are asked for, their code is a module of a blob.
_WIDGET_PAGE = """<!doctype html><meta charset="utf-8"><body><div id="host"></div><script type="module">
const states = %s, models = {};
const module = async text => (await import(URL.createObjectURL(new Blob([text], {type: "text/javascript"})))).default;
const widget_manager = {get_model: id => models[id] ??= make(id)};
async function make(id) {
  const state = states[id];
  if (!state) throw new Error("no model " + id);
  const handlers = {};
  const model = {
    get: key => state[key], save_changes() {}, send() {}, widget_manager,
    set(key, value) { state[key] = value; (handlers["change:" + key] ?? []).forEach(each => each()); },
    on(event, handler) { (handlers[event] ??= []).push(handler); }, off() {},
  };
  if (state._css) document.head.appendChild(document.createElement("style")).textContent = state._css;
  model.code = await module(state._esm);
  await model.code.initialize?.({model});
  return model;
}
const model = await widget_manager.get_model(%s);
await model.code.render({model, el: document.getElementById("host")});
</script>"""
