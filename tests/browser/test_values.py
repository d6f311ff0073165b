"""Values in a notebook: from the strip to where NaN was born, colours of values in the graph, and charts."""

SETUP = "%load_ext xlascope\nimport xlascope as xs, xlascope.numpy as jnp"
BORN = """@xs.jit
def update(w, x):
    scores = jnp.log(x @ w)
    return w - 0.1 * scores.sum(0)
w, x = jnp.eye(4, 3), jnp.ones((5, 4)).at[2].set(0.0)
w = update(w, x)
w.block_until_ready();"""
DEEP = """def deep(weights, x):
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return (x ** 2).sum()
weights = [0.1 * xs.random.normal(xs.random.key(i), (16, 16)) for i in range(8)]
%values xs.grad(deep)(weights, jnp.ones((4, 16)))"""


def test_from_the_strip_to_where_it_was_born(lab):
    notebook = lab.new(SETUP, BORN)
    notebook.run_all()
    notebook.wait_idle()
    output = notebook.cell_output(1)
    output.get_by_role("button", name="where was it born?").click()
    card = output.locator(".xs-values")
    card.get_by_text("infinity born").wait_for()
    assert "log of 0: 3 of 15 elements are 0" in card.inner_text()
    for theme in ("dark", "light"):
        notebook.theme(theme)
        notebook.screenshot(f"values_born_{theme}")
    card.locator("[data-goto]").first.click()
    output.locator(".xs-node.selected .xs-title").get_by_text("⚠ log").wait_for()
    output.get_by_role("button", name="zeros", exact=True).click()
    output.locator(".xs-legend").get_by_text("few to many zeros").wait_for()


def test_colours_and_charts_of_values(lab):
    notebook = lab.new(SETUP, DEEP)
    notebook.run_all()
    notebook.wait_idle()
    output = notebook.cell_output(1)
    output.locator(".xs-values svg").wait_for()
    output.get_by_role("button", name="size", exact=True).click()
    output.locator(".xs-node.heat-0 .xs-sub").get_by_text("2^-").first.wait_for()
    for theme in ("dark", "light"):
        notebook.theme(theme)
        notebook.screenshot(f"values_depth_{theme}")
