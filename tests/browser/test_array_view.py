"""The view of an array: from a box of the graph and from ``%look``, with mouse and keys."""

SETUP = "%load_ext xlascope\nimport numpy as np, xlascope as xs, xlascope.numpy as jnp"
BORN = """def scores(w, x):
    y = jnp.log(x @ w)
    return y.sum(0)
w, x = jnp.eye(4, 3), jnp.ones((5, 4)).at[2].set(0.0)
%values scores(w, x)"""
LARGE = """x = np.random.default_rng(0).normal(size=(3, 400, 900)).astype(np.float32)
x[1, 37, 41] = np.nan
x[2, 5, 7] = -60.0
%look x"""


def test_a_value_of_the_graph(lab):
    notebook = lab.new(SETUP, BORN)
    notebook.run_all()
    notebook.wait_idle()
    output = notebook.cell_output(1)
    output.locator(".xs-values [data-goto]").first.click()
    output.locator(".xs-detail [data-look]").click()
    view = output.locator(".xs-array")
    view.get_by_text("15 elements").wait_for()
    for theme in ("dark", "light"):
        notebook.theme(theme)
        notebook.screenshot(f"array_of_a_value_{theme}")


def test_a_large_array(lab):
    notebook = lab.new(SETUP, LARGE)
    notebook.run_all()
    notebook.wait_idle()
    output = notebook.cell_output(1)
    output.get_by_role("button", name="first NaN").wait_for()
    for width in (700, 1440):
        notebook.page.set_viewport_size({"width": width, "height": 900})
        for theme in ("dark", "light"):
            notebook.theme(theme)
            notebook.screenshot(f"array_large_{theme}_{width}")
    output.get_by_role("button", name="first NaN").click()
    output.get_by_text("[1, 37, 41]: NaN").wait_for()
    notebook.screenshot("array_large_nan")
