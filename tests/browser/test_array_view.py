"""The view of an array: from a box, an edge or an operand of the graph, and from ``%look``, with mouse and keys."""

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator
from tests.browser.test_accessible import AXE

SETUP = "%load_ext xlascope\nimport numpy as np, xlascope as xs, xlascope.numpy as jnp"
BORN = """def scores(w, x):
    y = jnp.log(x @ w)
    return xs.lax.fori_loop(0, 7, lambda number, total: total + number * y.sum(0), y[0])
w, x = jnp.eye(4, 3), jnp.ones((5, 4)).at[2].set(0.0)
%values scores(w, x)"""
LARGE = """x = np.random.default_rng(0).normal(size=(3, 400, 900)).astype(np.float32)
x[1, 37, 41] = np.nan
x[2, 5, 7] = -60.0
%look x"""


def assert_accessible(page: object) -> None:
    page.evaluate(AXE_SCRIPT)  # type: ignore[attr-defined]
    assert page.evaluate(AXE, None) == []  # type: ignore[attr-defined]


def painted(view: Locator) -> int:
    """Return how many colours the heat map has."""
    return int(
        view.locator("canvas").evaluate(
            """canvas => {
                const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                const words = new Uint32Array(data.buffer);
                return new Set(words).size;
            }"""
        )
    )


def test_values_of_the_graph(lab):
    notebook = lab.new(SETUP, BORN)
    notebook.run_all()
    notebook.wait_idle()
    output = notebook.cell_output(1)
    view, detail = output.locator(".xs-array:not([hidden])"), output.locator(".xs-detail")
    output.locator(".xs-values [data-goto]").first.click()
    detail.get_by_role("button", name="look into").click()
    view.get_by_text("d, log").wait_for()
    view.get_by_text("15 elements").wait_for()
    view.get_by_text("3 infinite").wait_for()
    view.locator(".xs-array-legend").get_by_text("infinity").wait_for()
    for width in (700, 1440):
        notebook.page.set_viewport_size({"width": width, "height": 900})
        for theme in ("dark", "light"):
            notebook.theme(theme)
            view.scroll_into_view_if_needed()
            notebook.screenshot(f"array_of_a_value_{theme}_{width}")
            assert_accessible(notebook.page)
    # The operand of the birth.
    output.locator(".xs-values [data-look]").first.click()
    view.get_by_text("c, operand of log").wait_for()
    # The keys: select, look, point, close.
    output.locator(".xs-node", has_text="dot").first.click()
    notebook.page.keyboard.press("v")
    view.get_by_text("c, dot_general").wait_for()
    view.get_by_text("20 % zeros").wait_for()
    view.locator("canvas").focus()
    notebook.page.keyboard.press("ArrowDown")
    notebook.page.keyboard.press("ArrowRight")
    view.get_by_text("[1, 1]: 1", exact=True).wait_for()
    notebook.page.keyboard.press("Escape")
    view.wait_for(state="detached")
    assert detail.locator("[data-look]").count() == 1
    assert not notebook.errors


def test_an_iteration_of_a_loop_is_chosen(lab):
    notebook = lab.new(SETUP, BORN.replace(".set(0.0)", ".set(2.0)"))
    notebook.run_all()
    notebook.wait_idle()
    output = notebook.cell_output(1)
    output.get_by_role("searchbox").fill("op:mul")
    notebook.page.keyboard.press("Enter")
    output.locator(".xs-detail").get_by_role("button", name="look into").click()
    view = output.locator(".xs-array:not([hidden])")
    iteration = view.get_by_label("iteration of the loop around it")
    assert iteration.get_attribute("placeholder") == "last"
    canvas = view.locator("canvas")
    view.get_by_text("of 7").wait_for()
    canvas.focus()
    view.get_by_text("[0]: ").wait_for()
    last = view.locator(".xs-array-readout").inner_text()
    iteration.fill("3")
    iteration.press("Enter")
    canvas.focus()
    view.locator(f".xs-array-readout:has-text('[0]: '):not(:text-is({last!r}))").wait_for()
    value = float(view.locator(".xs-array-readout").inner_text().split(": ")[1])
    assert abs(value - float(last.split(": ")[1]) / 2) < 1e-5
    iteration.fill("")
    iteration.press("Enter")
    canvas.focus()
    view.get_by_text(last, exact=True).wait_for()


def test_a_large_array(lab):
    notebook = lab.new(SETUP, LARGE)
    notebook.run_all()
    notebook.wait_idle()
    page, output = notebook.page, notebook.cell_output(1)
    output.get_by_text("reduced: a cell is a block of 5 × ").wait_for()
    output.get_by_role("button", name="first NaN").wait_for()
    for width in (700, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("dark", "light"):
            notebook.theme(theme)
            notebook.screenshot(f"array_large_{theme}_{width}")
            assert_accessible(page)
    output.get_by_role("button", name="first NaN").click()
    output.get_by_text("[1, 37, 41]: NaN", exact=True).wait_for()
    output.get_by_text("rows 21 to 52 of 400, columns 9 to 72 of 900").wait_for()
    notebook.screenshot("array_large_nan")
    page.keyboard.press("ArrowLeft")
    output.locator(".xs-array-readout").get_by_text("[1, 37, 40]: ").wait_for()
    page.keyboard.press("Escape")
    output.get_by_text("reduced: a cell is a block").wait_for()
    output.get_by_role("button", name="largest magnitude").click()
    output.get_by_text("[2, 5, 7]: -60", exact=True).wait_for()
    # A slider, the axes, a block, and the mouse.
    index = output.get_by_label("index along axis 0, as a number")
    assert index.input_value() == "2"
    output.get_by_role("button", name="all of the slice").click()
    output.get_by_label("rows").select_option("0")
    index = output.get_by_label("index along axis 1, as a number")
    index.fill("5")
    canvas = output.locator("canvas")
    canvas.focus()
    page.keyboard.press("PageDown")
    page.keyboard.press("Home")
    output.locator(".xs-array-readout").get_by_text("[2, 5, 0–").wait_for()
    page.keyboard.press("Enter")
    output.get_by_text("columns 0 to 63 of 900").wait_for()
    canvas.hover(position={"x": 12, "y": 12})
    output.locator(".xs-array-readout").get_by_text("[0, 5, 0]: ").wait_for()
    output.get_by_label("scale").select_option("log")
    assert painted(output) > 50
    assert not notebook.errors


KINDS = """from IPython.display import display
from xlascope import inspect
for array in (
    np.float32(0.1),
    np.zeros((0, 3)),
    np.arange(200) % 7 > 2,
    jnp.array([3 - 4j, 1j, jnp.nan], jnp.complex64),
    xs.random.split(xs.random.key(0), 3),
    np.array([[2**63 - 1, -5]]),
    jnp.full((6, 6), -jnp.inf),
):
    display(inspect.look(array, str(array.dtype)))"""


def test_arrays_of_every_kind(lab):
    notebook = lab.new(SETUP, KINDS)
    notebook.run_all()
    notebook.wait_idle()
    output = notebook.cell_output(1)
    views = output.locator(".xs-array-body")
    views.nth(6).wait_for()

    def read(number: int, words: str) -> Locator:
        view = views.nth(number)
        view.locator("canvas").focus()
        view.locator(".xs-array-readout").get_by_text(words, exact=True).wait_for()
        return view

    read(0, "[]: 0.1")
    views.nth(1).get_by_text("no elements").wait_for()
    read(2, "[0] = False").get_by_text("113 True").wait_for()
    view = read(3, "[0]: magnitude 5")
    view.get_by_label("part").select_option("imag")
    read(3, "[0]: imaginary part -4")
    read(4, "[0, 0] = 0x6b200159").get_by_text("3 different").wait_for()
    read(5, "[0, 0]: 9223372036854775807").get_by_text("-5 to 9,223,372,036,854,775,807").wait_for()
    read(6, "[0, 0]: -∞").get_by_text("36 infinite").wait_for()
    for theme in ("dark", "light"):
        notebook.theme(theme)
        notebook.page.set_viewport_size({"width": 1000, "height": 2400})
        for number in (2, 4, 6):  # the page hides its outputs while it changes the theme
            frame = views.nth(number).locator(".xs-heat-frame")
            frame.locator("canvas").scroll_into_view_if_needed()
            assert frame.locator("canvas").evaluate("canvas => canvas.clientWidth") > 100
        notebook.screenshot(f"array_kinds_{theme}")
    assert not notebook.errors


def test_a_saved_notebook_has_a_picture_and_the_text(lab):
    notebook = lab.new(SETUP, LARGE)
    notebook.run_cell(0)
    notebook.wait_idle()
    notebook.run_cell(1)
    notebook.wait_idle()
    notebook.cell_output(1).get_by_text("reduced: a cell is a block").wait_for()
    notebook.save()
    later = lab.reopen(notebook)
    output = later.cell_output(1)
    output.get_by_text("x: f32[3,400,900], 4.32 MB").wait_for()
    assert output.locator("img[alt='its first slice']").is_visible()
    assert output.locator("canvas").count() == 0
    later.screenshot("array_saved")
