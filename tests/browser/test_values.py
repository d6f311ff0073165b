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
    output.locator(".xs-node[class*=heat-] .xs-sub").get_by_text("2^-").first.wait_for()
    for theme in ("dark", "light"):
        notebook.theme(theme)
        notebook.screenshot(f"values_depth_{theme}")


TRAIN = """def loss(params, x):
    for w in params:
        x = xs.nn.relu(x @ w)
    return (x ** 2).mean()
@xs.jit
def step(params, x):
    value, gradients = xs.value_and_grad(loss)(params, x)
    return [w - 0.1 * g for w, g in zip(params, gradients)], value
params = [0.2 * xs.random.normal(xs.random.key(i), (64, 64)) for i in range(5)]
x = xs.random.normal(xs.random.key(9), (32, 64))
with xs.watch_values(step) as watched:
    number = 0
    while not pathlib.Path("enough_values").exists():
        params, value = step(params, x)
        number += 1
x = 1e30 * x
with xs.watch_values(step) as watched:
    for _ in range(30):
        params, value = step(params, x)"""


def test_charts_stream_while_a_cell_trains(lab):
    enough = lab.server.root / "enough_values"
    enough.unlink(missing_ok=True)
    notebook = lab.new(SETUP + "\nimport pathlib", TRAIN, "1 + 1")
    notebook.run_cell(0)
    notebook.wait_idle()
    notebook.run_cell(1)
    output = notebook.cell_output(1)
    output.locator(".xs-open").click()
    card = output.locator(".xs-values")
    card.get_by_text("step over time").wait_for()
    charts = card.locator("svg")
    charts.nth(2).wait_for()
    said = card.inner_text()
    output.locator(f".xs-values:not(:has-text({said.splitlines()[0]!r}))").wait_for()
    assert notebook.is_running(1)
    for theme in ("dark", "light"):
        notebook.theme(theme)
        notebook.screenshot(f"values_over_time_{theme}")
    enough.touch()
    notebook.wait_idle()
    card.get_by_text("wrong from step 0 on").wait_for()
    notebook.screenshot("values_over_time_bad")
