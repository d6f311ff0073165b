"""What is seen of a program before anything is done, and how one comes nearer: in a real Chromium."""

import base64
import json
import re

import pytest
from tests.browser.conftest import group_by
from tests.browser.test_explorer import PAGE, Explorer, state_of
from tests.widgets import programs
from tests.widgets.test_phases import M, W, X, Y, adam_in_nested_step

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, records
from xlascope_widgets import assets

# Of everything written in the graph: how high its letters are on the screen, and what of it lies on other words.
LETTERS = """() => {
    const pane = document.querySelector('.xs-graph').getBoundingClientRect();
    const texts = [...document.querySelectorAll('.xs-graph-svg text')].filter(text => text.textContent.trim());
    const boxes = texts.map(text => ({box: text.getBoundingClientRect(), words: text.textContent,
        size: parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a}));
    const beside = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1;
    const below = (a, b) => a.bottom <= b.top + 3 || b.bottom <= a.top + 3;
    const meet = (a, b) => !beside(a.box, b.box) && !below(a.box, b.box);
    const pairs = boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => meet(a, b)).map(b => [a.words, b.words]));
    const within = ({box}) => box.left > pane.left - 1 && box.right < pane.right + 1 &&
        box.top > pane.top - 1 && box.bottom < pane.bottom + 1;
    const out = boxes.filter(one => !within(one));
    return {least: Math.min(...boxes.map(one => one.size)), pairs, out: out.map(one => one.words), count: boxes.length};
}"""

# What is written in the graph where the crumbs lie on it.
UNDER_CRUMBS = """() => {
    const over = document.querySelector('.xs-crumbs').getBoundingClientRect();
    const beside = box => box.left >= over.right || box.right <= over.left;
    const meet = box => !beside(box) && box.top < over.bottom && box.bottom > over.top;
    const texts = [...document.querySelectorAll('.xs-graph-svg text')].filter(text => text.textContent.trim());
    return texts.filter(text => meet(text.getBoundingClientRect())).map(text => text.textContent);
}"""

NAMES = ["digits", "transformer", "lstm", "sampler", "unrolled"]


class Sight(Explorer):
    """A panel of records, in a window of a size."""

    def see(self, name, width, file=None):
        """As a page without an origin, or as a file, for which the browser keeps what was chosen."""
        self.page.set_viewport_size({"width": width, "height": 1400})
        state = state_of(name if isinstance(name, list) else getattr(programs, name)())
        data = base64.b64encode(json.dumps({"state": state, "code": assets.browser_module()}).encode()).decode()
        page = PAGE % (assets.style(), data)
        self.page.goto("about:blank")
        if file is None:
            self.page.set_content(page)
        else:
            file.write_text(page)
            self.page.goto(file.as_uri())
        self.page.wait_for_function("window.ready === true")

    def zoom(self, title, *notches):
        """Ctrl and the wheel, over the first box of a title: up is nearer."""
        box = self.find(".xs-node.holds").filter(has_text=title).first.bounding_box()
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.wheel(*notches)

    def wheel(self, *notches):
        self.page.keyboard.down("Control")
        for notch in notches:
            self.page.mouse.wheel(0, notch)
        self.page.keyboard.up("Control")

    def boxes(self):
        return self.find(".xs-nodes .xs-node[data-kind=equation]").count()


@pytest.fixture
def sight(new_page):
    page = new_page(1280, 720)
    sight = Sight(page)
    yield sight
    page.close()
    assert sight.errors == []


@pytest.mark.parametrize("width", [540, 700, 1100, 1400, 1920])
def test_the_whole_is_seen_and_can_be_read(sight, width):
    for name in NAMES:
        sight.see(name, width)
        letters = sight.page.evaluate(LETTERS)
        assert letters["count"] >= 12, name
        assert letters["least"] >= 10.99, name
        assert letters["out"] == [], name
        assert letters["pairs"] == [], name
        assert sight.find(".xs-minimap").is_hidden(), name
        sight.screenshot(f"first_sight_{name}_{width}")


@pytest.mark.parametrize("width", [540, 1100])
def test_the_name_of_a_kernel_at_the_top_is_seen(sight, width):
    records = inspect.fusions(lambda x: jnp.sin(jnp.ones((5, 2)) * 0.5) * x, jnp.ones((5, 2))).records
    sight.see(list(records), width)
    assert sight.find(".xs-hull-name").count()
    assert sight.page.evaluate(LETTERS)["out"] == []


def test_zooming_in_dissolves_and_zooming_out_gathers(sight):
    sight.see("transformer", 1400)
    first = sight.boxes()
    sight.zoom("layer × 6", *[-100] * 6)
    sight.find(".xs-node.holds").filter(has_text="layer 3").first.wait_for()
    assert sight.find(".xs-minimap").is_visible()
    crumbs = " ".join(sight.find(".xs-crumbs").inner_text().split())
    assert re.search(r"update ▸ layer × 6", crumbs)
    sight.screenshot("first_sight_near")
    sight.wheel(*[100] * 14)
    nodes = "document.querySelectorAll('.xs-nodes .xs-node[data-kind=equation]').length"
    sight.page.wait_for_function(f"{nodes} <= {first}")
    assert sight.find(".xs-minimap").is_hidden() and sight.find(".xs-crumbs").is_hidden()


def test_crumbs_lead_back(sight):
    sight.see("transformer", 1400)
    sight.open("layer × 6")
    sight.open("layer 2")
    sight.press(sight.find(".xs-node.holds").filter(has_text="attention").first)
    crumbs = sight.find(".xs-crumbs button")
    assert [text.strip() for text in crumbs.all_text_contents()] == ["update", "layer × 6", "layer 2", "attention"]
    crumbs.first.click()
    screen, node = (sight.find(one).bounding_box() for one in (".xs-graph", ".xs-boxes .xs-node >> nth=0"))
    assert node["x"] >= screen["x"] and node["y"] + node["height"] <= screen["y"] + screen["height"] + 1


@pytest.mark.parametrize("name", ["digits", "lstm", "transformer"])
def test_crumbs_lie_where_no_words_are(sight, name):
    sight.see(name, 1100)
    nodes = sight.find(".xs-nodes .xs-node[data-kind=equation]")
    for number in (0, nodes.count() // 2, nodes.count() - 1):
        sight.press(nodes.nth(number))
        assert sight.find(".xs-crumbs").is_visible()
        assert sight.page.evaluate(UNDER_CRUMBS) == []


def test_the_map_moves_what_is_seen(sight):
    sight.see("transformer", 1400)
    sight.find("[data-command=expand]").click()
    assert sight.find(".xs-minimap").is_hidden()  # all of it is seen
    sight.find(".xs-canvas-host").focus()
    for _ in range(16):
        sight.page.keyboard.press("+")
    sight.find(".xs-minimap").wait_for()
    where = "document.querySelector('.xs-minimap i').style.left"
    box = sight.find(".xs-minimap").bounding_box()
    sight.page.mouse.move(box["x"] + 5, box["y"] + 5)
    sight.page.mouse.down()
    left = sight.page.evaluate(where)
    sight.page.mouse.move(box["x"] + box["width"] - 5, box["y"] + 5, steps=3)
    sight.page.mouse.up()
    assert float(sight.page.evaluate(where)[:-2]) > float(left[:-2])


@pytest.mark.parametrize(("width", "splitter"), [(1400, "left"), (1920, "left"), (1920, "right")])
def test_panes_are_as_wide_as_somebody_dragged_them(sight, tmp_path, width, splitter):
    """And are so in the next panel; by keyboard, too."""
    sight.see("digits", width, tmp_path / "panel.html")
    pane = ".xs-source" if splitter == "left" else ".xs-kernels"
    before = sight.find(pane).bounding_box()["width"]
    box = sight.find(f".xs-split.{splitter}").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    sight.page.mouse.move(x, y)
    sight.page.mouse.down()
    sight.page.mouse.move(x + (80 if splitter == "left" else -80), y, steps=3)
    sight.page.mouse.up()
    wider = sight.find(pane).bounding_box()["width"]
    assert 70 <= wider - before <= 90
    sight.page.reload()
    sight.page.wait_for_function("window.ready === true")
    assert abs(sight.find(pane).bounding_box()["width"] - wider) < 3
    sight.find(f".xs-split.{splitter}").focus()
    sight.page.keyboard.press("ArrowRight" if splitter == "left" else "ArrowLeft")
    assert sight.find(pane).bounding_box()["width"] > wider + 10


def test_narrow_panes_stack_with_the_graph_first(sight):
    sight.see("digits", 850)
    tops = [sight.find(pane).bounding_box()["y"] for pane in (".xs-middle", ".xs-source", ".xs-kernels")]
    assert tops == sorted(tops) and len(set(tops)) == 3
    cut = "all => all.filter(one => one.scrollWidth > one.clientWidth).length"
    assert sight.find(".xs-line.has .xs-text").evaluate_all(cut) == 0  # source wraps


def test_all_of_the_screen_and_back(sight):
    sight.see("transformer", 1400)
    before = sight.find(".xs-graph").bounding_box()["height"]
    full = "document.querySelector('.xs-root').matches(':fullscreen, .xs-full')"
    sight.find("[data-command=full]").click()
    sight.page.wait_for_function(full)
    sight.page.wait_for_function(f"document.querySelector('.xs-graph').clientHeight > {before + 50}")
    sight.find("[data-command=full]").click()
    sight.page.wait_for_function(f"!{full}")


def test_a_tab_of_its_own_follows(sight, tmp_path):
    sight.see("digits", 1400, tmp_path / "panel.html")
    with sight.page.expect_popup() as opened:
        sight.find("[data-command=tab]").click()
    tab = opened.value
    node = tab.locator(".xs-nodes .xs-node[data-kind=equation]").first
    node.wait_for()
    path = node.get_attribute("data-path")
    node.click()
    # What is selected there is selected here.
    sight.find(f'.xs-node.selected[data-path="{path}"]').wait_for()
    tab.keyboard.press("Escape")
    sight.page.wait_for_function("document.querySelectorAll('.xs-node.selected').length === 0")
    tab.close()


def test_an_operation_outside_of_jit_names_its_line(sight):
    """One that is compiled alone, so that nothing is traced."""
    x = jnp.linspace(0.0, 1.0, 1019)
    seen = []
    with records.watch(seen.append):
        jnp.arctan(x)
    sight.see(seen, 1100)
    line = test_an_operation_outside_of_jit_names_its_line.__code__.co_firstlineno + 5
    words = sight.find(".xs-nodes .xs-node[data-kind=equation]").all_text_contents()
    assert len(words) == 1 and "atan" in words[0] and f"line {line}" in words[0] and "no source" not in words[0]
    assert "jnp.arctan(x)" in sight.find(f'.xs-line[data-line="0:{line}"]').inner_text()


def test_an_optimizer_in_a_jitted_step_within_a_jitted_step_is_an_update(sight):
    """Its boxes have its colour and hatching, and the legend names it."""
    seen = list(inspect.explore(xs.jit(adam_in_nested_step), W, M, 0.0, X, Y).records)
    (traced,) = (record for record in seen if isinstance(record, records.Traced))
    operations = {str(equation.path): equation.operation for equation in traced.jaxpr.walk()}
    sight.see(seen, 1440)
    group_by(sight.page, "none")
    sight.use_tool("expand")
    phases = sight.find(".xs-nodes .xs-node[data-kind=equation]").evaluate_all(
        "all => all.map(one => [one.dataset.path, "
        "['forward', 'backward', 'update'].find(name => one.classList.contains('pass-' + name))])"
    )
    of = {
        operation: {phase for path, phase in phases if operations[path] == operation} for operation in ("sqrt", "tanh")
    }
    assert of == {"sqrt": {"update"}, "tanh": {"forward"}}
    assert {phase for _, phase in phases} == {"forward", "backward", "update"}
    assert "update ↓" in sight.find(".xs-legend").first.inner_text()
