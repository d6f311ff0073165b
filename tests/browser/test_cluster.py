"""A cluster of two processes in JupyterLab: one strip for a cell of both, their lanes, an interrupt, the end."""

import re

import pytest

pytest.importorskip("ipyparallel")

SETUP = """%%px
import pathlib, time
import numpy as np
import xlascope as xs
import xlascope.numpy as jnp

mesh = xs.make_mesh((xs.device_count(),), ("x",), (xs.sharding.AxisType.Auto,))
split, shared = xs.NamedSharding(mesh, xs.P("x")), xs.NamedSharding(mesh, xs.P())
x = xs.make_array_from_process_local_data(split, np.ones((64, 256), np.float32))
w = xs.device_put(np.full((256, 256), 1 / 256, np.float32), shared)

@xs.jit
def step(w, x):
    loss, gradient = xs.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
    return loss, w - 0.1 * gradient
"""
# Process 1 comes late to each step; it runs until the test has seen enough of it.
LOOP = """%%px
until = time.time() + 100
while True:
    if xs.process_index() == 1: time.sleep(0.03)
    if time.time() > until: break
    loss, w = step(w, x)
    loss.block_until_ready()
"""


def test_two_processes_in_one_strip(lab):
    start = "import xlascope as xs\nxs.cluster.start(2)"
    cells = ("%load_ext xlascope", start, SETUP, LOOP, "%px float(step(w, x)[0])", "xs.cluster.stop()")
    notebook = lab.new(*cells, name="cluster.ipynb")
    for index in range(3):
        notebook.run_cell(index)
        notebook.wait_idle()
    assert "2 processes on 1 machine" in notebook.cell_output(1).inner_text()
    notebook.run_cell(3)
    output = notebook.cell_output(3)
    output.locator(".xs-strip:has-text('running')").wait_for(timeout=60_000)
    output.locator(".xs-open").click()
    panel = output.locator(".xs-panel")
    for process in (0, 1):  # while it runs, once both have been profiled
        panel.locator(f"[data-device='process {process}']").wait_for(timeout=90_000)
    notebook.interrupt()
    notebook.wait_idle()
    strip = output.locator(".xs-strip").last
    strip.locator("text=2 processes").wait_for()
    assert "the others wait for process 1" in strip.inner_text()
    notebook.screenshot("cluster_lanes", output)
    notebook.screenshot("cluster_timeline", panel.locator(".xs-timeline-svg"))
    panel.locator("[data-time='tab processes']").click()
    words = panel.locator(".xs-job").inner_text()
    assert re.search(r"all-reduce.*process 1 comes last", words)
    notebook.screenshot("cluster", output)
    notebook.run_cell(4)
    notebook.wait_idle()
    assert len(re.findall(r"Out\[[01]:", notebook.cell_output(4).inner_text())) == 2
    notebook.run_cell(5)
    notebook.wait_idle()
    assert "the cluster has ended" in notebook.cell_output(5).inner_text()
    assert not notebook.errors
