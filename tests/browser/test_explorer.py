"""The graph explorer in a real Chromium: groups, search, jumps, paths between two, the keyboard, large programs."""

import base64
import dataclasses
import itertools
import json
import random
import re
from pathlib import Path

import pytest
from tests.browser.conftest import group_by, use_tool

from xlascope.records import Equation, Jaxpr, SourceRange, Traced, Variable
from xlascope_widgets import assets
from xlascope_widgets.update_scheduler import UpdateScheduler

SCREENSHOTS = Path(__file__).resolve().parents[2] / "build/screenshots"

# What a notebook's front end gives a widget, as far as the panel uses it; `window.send` is data that arrives.
PAGE = """<!doctype html><meta charset="utf-8"><style>%s</style>
<body style="margin:8px" data-jp-theme-light="true"><div id="host"></div><script type="module">
const {state, code} = JSON.parse(atob("%s"));
const handlers = {};
const model = {
  get: key => state[key], save_changes() {}, off() {}, send() {},
  set(key, value) { state[key] = value; (handlers["change:" + key] ?? []).forEach(handler => handler()); },
  on(event, handler) { (handlers[event] ??= []).push(handler); },
};
const widget = (await import(URL.createObjectURL(new Blob([code], {type: "text/javascript"})))).default;
widget.initialize({model});
window.undraw = widget.render({model, el: document.getElementById("host")});
window.send = text => {
  const {programs, live} = JSON.parse(text);
  model.set("live", live);
  model.set("programs", programs);
};
window.ready = true;
</script>"""

HOSTILE = "</script><img src=x onerror='window.hacked=1'>\u202e\u0007"


def state_of(records):
    """The traits of an open panel that has received these records."""
    state = {"uid": "explorer", "opened": True, "programs": {}, "live": {}}

    def send(programs, live):
        state.update({"live": live} if programs is None else {"live": live, "programs": programs})
        return 0

    feed = UpdateScheduler(send)
    for record in records:
        feed.store.receive(record)
    feed._dirty = feed._grown = True
    feed.finished = True
    feed.flush()
    return state


class Level:
    """Builds one level of a program; names are unique in the whole of it."""

    def __init__(self, prefix="", names=None):
        self.prefix, self.names = prefix, [0] if names is None else names
        self.variables, self.equations, self.inputs = {}, [], []

    def variable(self, shape=(8, 8), label=""):
        self.names[0] += 1
        name = f"v{self.names[0]}"
        self.variables[name] = Variable(name, shape, "float32", False, label)
        return name

    def input(self, label=""):
        self.inputs.append(self.variable(label=label))
        return self.inputs[-1]

    def eqn(
        self, operation, *inputs, line=1, function="f", role="forward", of=None, scope="", params="", bodies=(), n=1
    ):
        outs = tuple(self.variable() for _ in range(n))
        path = f"{self.prefix}{len(self.equations)}"
        source = SourceRange("/model.py", line, 0, line, 9, function)
        self.equations.append(Equation(path, operation, params, inputs, outs, role, source, of, 64, bodies, scope))
        return outs[0] if n == 1 else outs

    def jaxpr(self, *outputs, name="f"):
        return Jaxpr(name, (), tuple(self.inputs), outputs, self.variables, tuple(self.equations))


def traced(jaxpr):
    return Traced(1, jaxpr.name, 0.0, 0.1, jaxpr, "", "first call")


def layered(layers=12):
    """A network of equal layers in scopes, and its gradient: 6 equations a layer forward, 6 backward."""
    f = Level()
    x = f.input("x")
    weights = [f.input(f"params[{i}]") for i in range(layers)]
    forward = []
    for w in weights:
        for op, line in (("dot_general", 3), ("add", 3), ("tanh", 4), ("mul", 5), ("exp", 5), ("sub", 6)):
            x = f.eqn(op, x, w, line=line, function="layer", scope="net/layer")
            forward.append(str(len(f.equations) - 1))
    ct = f.eqn("reduce_sum", x, line=9, function="loss")
    gradients = []
    for w in reversed(weights):
        for op in ("neg", "mul", "div", "add_any", "transpose", "dot_general"):
            ct = f.eqn(op, ct, w, line=5, function="layer", role="backward", of=forward.pop(), scope="net/layer")
        gradients.append(ct)
    return f.jaxpr(*gradients, name="step")


def mixed(equations):
    """A random program without repeats, half of it backward."""
    rng = random.Random(0)
    operations = ["add", "mul", "tanh", "dot_general", "reduce_sum", "exp", "log", "transpose", "select_n", "max"]
    variables = {"x": Variable("x", (8, 8), "float32", False)}
    names, made = ["x"], []
    for i in range(equations):
        backward = i >= equations // 2
        twin = equations - 1 - i
        operands = (
            (names[-1], names[twin])
            if backward
            else tuple({names[-1 - rng.randrange(min(6, len(names)))] for _ in range(2)})
        )
        name = f"v{i}"
        variables[name] = Variable(name, (rng.choice((4, 8, 16)), 8), "float32", False)
        source = SourceRange("/model.py", i % 300 + 1, 0, i % 300 + 1, 9, "f")
        role, of = ("backward", str(twin)) if backward else ("forward", None)
        made.append(Equation(str(i), rng.choice(operations), "", operands, (name,), role, source, of, i % 999))
        names.append(name)
    return Jaxpr("big", (), ("x",), (names[-1],), variables, tuple(made))


class Explorer:
    """A panel on a page."""

    def __init__(self, page):
        self.page = page
        self.errors = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def show(self, *jaxprs, **changed):
        self.show_state(state_of([traced(jaxpr) for jaxpr in jaxprs]) | changed)

    def show_state(self, state):
        data = base64.b64encode(json.dumps({"state": state, "code": assets.browser_module()}).encode()).decode()
        self.page.set_content(PAGE % (assets.style(), data))
        self.page.wait_for_function("window.ready === true")

    def find(self, selector):
        return self.page.locator(selector)

    def group(self, kind):
        group_by(self.page, kind)

    def use_tool(self, command):
        use_tool(self.page, command)

    def titles(self):
        return self.find(".xs-nodes .xs-node[data-kind=equation] > .xs-title").all_text_contents()

    def node(self, path):
        return self.find(f'.xs-node[data-path="{path}"]')

    def press(self, locator, **options):
        """Click something that may lie off the screen."""
        for kind in ("pointerdown", "pointerup"):
            locator.dispatch_event(kind, {"button": 0, **options})

    def open(self, title):
        self.press(self.find(".xs-node.holds").filter(has_text=title).first.locator(".xs-toggle.hit"))

    def focus(self, path):
        self.node(path).evaluate("node => node.focus({preventScroll: true})")

    def marked(self, name):
        return set(self.find(f".xs-node.{name}").evaluate_all("all => all.map(one => one.dataset.path)"))

    def detail(self):
        return " ".join(self.find(".xs-detail").inner_text().split())

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png")


@pytest.fixture
def explorer(new_page):
    page = new_page(1280, 900)
    explorer = Explorer(page)
    yield explorer
    page.close()
    assert explorer.errors == []


def test_repeated_layers_fold_and_open(explorer):
    explorer.show(layered())
    explorer.group("function")
    assert [title.split(" ⊞")[0] for title in explorer.titles()] == ["layer × 12", "reduce_sum", "layer × 12"]
    explorer.open("layer × 12")
    layers = [title for title in explorer.titles() if title.startswith("layer ") and title[6].isdigit()]
    assert sorted(layers) == sorted(f"layer {i} ⊞" for i in range(1, 13))
    explorer.open("layer 3")
    assert {"dot_general", "tanh", "sub"} <= {title.strip() for title in explorer.titles()}
    explorer.screenshot("explorer_layers")


@pytest.mark.parametrize(
    ("kind", "titles"),
    [
        ("none", 145),
        ("scope", {"layer × 12", "reduce_sum"}),
        ("function", {"layer × 12", "reduce_sum"}),
        ("line", {"layer × 12", "line 5 × 12", "reduce_sum"}),
    ],
)
def test_groups_by(explorer, kind, titles):
    explorer.show(layered())
    explorer.group(kind)
    found = [title.split(" ⊞")[0].strip() for title in explorer.titles()]
    if isinstance(titles, int):
        assert len(found) == titles
    else:
        assert set(found) == titles


def test_another_grouping_forgets_a_selected_group(explorer):
    explorer.show(layered())
    explorer.group("function")
    explorer.press(explorer.find(".xs-node.group").first)
    assert "layer × 12: 72 equations" in explorer.detail()
    explorer.group("none")
    assert "Click an equation" in explorer.detail()


def test_a_scope_within_a_scope_opens_to_what_is_in_it(explorer):
    jaxpr = layered(3)
    parts = [("a/b", 8), ("a/c", 8), ("d/e/f", 5)]
    scopes = [scope for scope, times in parts for _ in range(times)]
    equations = [dataclasses.replace(e, scope=scope) for e, scope in zip(jaxpr.equations, scopes, strict=False)]
    explorer.show(dataclasses.replace(jaxpr, equations=tuple(equations), outputs=equations[-1].outputs))
    explorer.group("scope")
    assert "a" in {title.split(" ⊞")[0].strip() for title in explorer.titles()}
    explorer.open("a")
    titles = {title.split(" ⊞")[0].strip() for title in explorer.titles()}
    assert {"b", "c"} <= titles


def test_jumping_between_a_backward_equation_and_its_forward_one(explorer):
    explorer.show(layered())
    explorer.group("none")
    backward, forward = "73", "71"
    explorer.press(explorer.node(backward))
    assert explorer.marked("related") == {forward}
    explorer.find(f".xs-detail [data-goto='{forward}']").click()
    assert explorer.marked("selected") == {forward}
    explorer.focus(forward)
    explorer.page.keyboard.press("j")
    assert explorer.marked("selected") == {backward}
    explorer.page.keyboard.press("j")
    assert explorer.marked("selected") == {forward}


def test_jumping_opens_the_group_that_holds_the_other(explorer):
    explorer.show(layered())
    explorer.group("function")
    explorer.find(".xs-search").fill("neg")
    explorer.find(".xs-search").press("Enter")
    assert explorer.marked("selected") == {"73"}
    explorer.find(".xs-detail [data-goto]").first.click()
    assert explorer.marked("selected") == {"71"}


def test_search_counts_and_goes_both_ways(explorer):
    explorer.show(layered())
    search = explorer.find(".xs-search")
    for query, count in (("tanh", 12), ("params[3]", 12), ("f32[8,8] exp", 12), ("v99999", 0)):
        search.fill(query)
        assert explorer.detail().startswith(f"{count} of ")
    search.fill("tanh")
    order = []
    for key in ("Enter", "Enter", "Shift+Enter", "Shift+Enter", "Shift+Enter"):
        search.press(key)
        order.append(re.search(r"number (\d+) is shown", explorer.detail())[1])
    assert order == ["1", "2", "1", "12", "11"]


def test_what_lies_between_two(explorer):
    f = Level()
    x = f.input("x")
    a = f.eqn("sin", x)  # 0
    left = f.eqn("cos", a)  # 1
    right = f.eqn("exp", a)  # 2
    aside = f.eqn("log", a)  # 3
    joined = f.eqn("mul", left, right)  # 4
    b = f.eqn("neg", joined)  # 5
    explorer.show(f.jaxpr(b, aside))
    explorer.press(explorer.node("5"))
    explorer.press(explorer.node("0"), shiftKey=True)
    assert explorer.marked("between") == {"1", "2", "4"}
    assert explorer.marked("start") == {"0", "5"}
    assert "3 equations on the paths between them" in explorer.detail()
    explorer.focus("3")
    explorer.page.keyboard.press("b")
    assert "between log" in explorer.detail()
    explorer.focus("4")
    explorer.page.keyboard.press("b")
    assert "neither depends on the other" in explorer.detail()
    explorer.focus("4")
    explorer.page.keyboard.press("Enter")
    explorer.focus("5")
    explorer.page.keyboard.press("Shift+Enter")
    assert "one uses the other directly" in explorer.detail()


def loops():
    """A scan, a while loop, a checkpoint on the way back, in one program."""
    f = Level()
    x, y = f.input("x"), f.input("y")

    def body(path, *operations):
        level = Level(f"{path}/", f.names)
        value = level.input()
        for operation, role in operations:
            value = level.eqn(operation, value, role=role)
        return (level.jaxpr(value, name="cell"),)

    one = f.eqn("scan", x, y, params="length=100 reverse=False", bodies=body("0", ("sin", "forward")))
    two = f.eqn("while", one, bodies=body("1", ("cos", "forward")))
    f.eqn("remat2", two, role="backward", of="0", bodies=body("2", ("tanh", "forward"), ("mul", "backward")))
    return f.jaxpr(two, name="loops")


def test_loops_say_how_often_and_recomputation_has_a_colour(explorer):
    explorer.show(loops())
    explorer.group("none")
    titles = explorer.titles()
    assert "cell × 100 steps ⊞" in titles and "cell × ? steps ⊞" in titles
    explorer.find("[data-command=expand]").click()
    assert "pass-recomputed" in explorer.node("2/0").get_attribute("class")
    assert "pass-backward" in explorer.node("2/1").get_attribute("class")
    assert "computed again" in explorer.find(".xs-legend").inner_text()
    explorer.press(explorer.node("1"))
    assert "not known before it runs" in explorer.detail()


TOP_OF_TOOLS = """head => [...head.querySelectorAll('button, select, input')].map(tool => tool.getBoundingClientRect())
    .filter(box => box.height > 0).map(box => Math.round(box.top + box.height / 2))"""


@pytest.mark.parametrize("width", [700, 1000, 1440])
@pytest.mark.parametrize("several", [False, True], ids=["one program", "two programs and targets"])
def test_tools_stand_in_one_row_the_rest_in_a_menu(explorer, width, several):
    explorer.page.set_viewport_size({"width": width, "height": 900})
    records = [traced(layered())]
    records += [dataclasses.replace(records[0], program=2, function="another_function_of_the_cell")] * several
    asks = {"questions": ["target"], "targets": ["gpu:h100", "tpu:v6e"], "missing": {}} if several else {}
    explorer.show_state(state_of(records) | asks)
    assert explorer.find(".xs-choice").count() == several and explorer.find(".xs-add-target").count() == several
    middles = explorer.find(".xs-head").evaluate(TOP_OF_TOOLS)
    if width >= 1000 or not several:
        assert max(middles) - min(middles) < 6
    more = explorer.find("[data-command=more]")
    assert explorer.find("[data-command=expand]").is_visible() != more.is_visible()
    if width == 1440 and not several:
        assert more.is_hidden()
        return
    more.focus()
    explorer.page.keyboard.press("Enter")
    assert more.get_attribute("aria-expanded") == "true" and explorer.find("[data-command=expand]").is_visible()
    explorer.page.keyboard.press("Tab")
    assert explorer.page.evaluate("document.activeElement.dataset.command") == "expand"
    explorer.page.keyboard.press("Escape")
    assert more.get_attribute("aria-expanded") == "false" and explorer.find("[data-command=expand]").is_hidden()
    assert explorer.page.evaluate("document.activeElement.dataset.command") == "more"
    explorer.page.keyboard.press("g")
    assert explorer.page.evaluate("document.activeElement.className") == "xs-grouping"
    explorer.page.keyboard.press("Escape")
    explorer.use_tool("list")
    assert explorer.find(".xs-outline-row").count() > 0 and more.get_attribute("aria-expanded") == "false"
    more.click()
    explorer.find(".xs-source").click(position={"x": 5, "y": 5})
    assert explorer.find("[data-command=expand]").is_hidden()


def test_where_it_is_narrow_the_graph_comes_first_and_is_fitted_again(explorer):
    explorer.show(layered())
    tops = "all => all.map(one => one.getBoundingClientRect().top)"
    fits = """pane => {
        const box = pane.getBoundingClientRect();
        return [...pane.querySelectorAll('.xs-node .xs-body')].every(node => {
            const {left, right} = node.getBoundingClientRect();
            return left >= box.left && right <= box.right;
        });
    }"""
    for width in (1440, 700):
        explorer.page.set_viewport_size({"width": width, "height": 1000})
        explorer.page.wait_for_function(f"document.querySelector('.xs-root').clientWidth < {width}")
        explorer.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        graph, source = (explorer.find(pane).evaluate_all(tops)[0] for pane in (".xs-graph", ".xs-source"))
        assert graph < source and explorer.find(".xs-graph").evaluate(fits)
    explorer.find("[data-command=fit]").click()
    zoomed = "document.querySelector('.xs-view').getAttribute('transform')"
    explorer.find(".xs-graph-svg").focus()
    explorer.page.keyboard.press("+")
    before = explorer.page.evaluate(zoomed)
    explorer.page.set_viewport_size({"width": 900, "height": 1000})
    explorer.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert explorer.page.evaluate(zoomed) == before  # what somebody looks at stays


#: Of all labels of a graph from afar, and of the pane: left, top, right, bottom, words, size of the letters.
FAR_LABELS = """host => {
    const pane = host.querySelector('.xs-graph').getBoundingClientRect();
    const box = r => [r.left, r.top, r.right, r.bottom].map(Math.round);
    const rects = [...host.querySelectorAll('.xs-far rect')].map(r => box(r.getBoundingClientRect()));
    const texts = [...host.querySelectorAll('.xs-far text')].map(t => {
        const scale = t.getScreenCTM().a;
        return {box: box(t.getBoundingClientRect()), words: t.textContent, title: t.classList.contains('xs-title'),
                size: scale * parseFloat(getComputedStyle(t).fontSize)};
    });
    const nodes = [...host.querySelectorAll('.xs-graph-svg .xs-body')].map(n => box(n.getBoundingClientRect()));
    return {pane: box(pane), rects, texts, nodes};
}"""


def overlap(a, b):
    return min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1


def is_within(a, b):
    return a[0] >= b[0] - 2 and a[1] >= b[1] - 2 and a[2] <= b[2] + 2 and a[3] <= b[3] + 2


@pytest.mark.parametrize("width", [700, 1000, 1440])
def test_all_boxes_open_are_a_map_with_names(explorer, width):
    """The whole graph is in sight, and letters of a readable size name its boxes without covering one another."""
    explorer.page.set_viewport_size({"width": width, "height": 1000})
    explorer.show(layered(30))
    boxes = set(explorer.titles())
    explorer.use_tool("expand")
    for heat in ("pass", "flops"):
        explorer.find(f"[data-command={heat}]").click()
        seen = explorer.find("#host").evaluate(FAR_LABELS)
        assert all(is_within(node, seen["pane"]) for node in seen["nodes"])
        assert len(seen["rects"]) >= 4 and all(is_within(label, seen["pane"]) for label in seen["rects"])
        pairs = [(a, b) for i, a in enumerate(seen["rects"]) for b in seen["rects"][:i]]
        assert not any(overlap(*pair) for pair in pairs)
        assert all(text["size"] >= 10.9 for text in seen["texts"])
        assert all(any(is_within(text["box"], label) for label in seen["rects"]) for text in seen["texts"])
        titles = {text["words"] for text in seen["texts"] if text["title"]}
        assert titles & {title.removesuffix(" ⊞") for title in boxes}
        assert any("FLOP" in text["words"] for text in seen["texts"]) == (heat == "flops")
    explorer.page.set_viewport_size({"width": 850, "height": 1000})
    explorer.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    seen = explorer.find("#host").evaluate(FAR_LABELS)
    assert all(is_within(node, seen["pane"]) for node in seen["nodes"])  # still all of it
    explorer.use_tool("collapse")
    assert explorer.find(".xs-far").count() == 0 and explorer.titles()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [700, 1000, 1440])
def test_a_deep_program_fills_the_pane(explorer, width, theme):
    """Not as a strip that is a hundred times as high as wide: 70 layers stand in columns, and names can be read."""
    explorer.page.set_viewport_size({"width": width, "height": 1000})
    explorer.show(layered(70))
    explorer.page.evaluate("theme => document.body.dataset.jpThemeLight = theme === 'light'", theme)
    explorer.group("none")
    explorer.use_tool("fit")
    seen = explorer.find("#host").evaluate(FAR_LABELS)
    nodes, pane = seen["nodes"], seen["pane"]
    assert len(nodes) > 800 and all(is_within(node, pane) for node in nodes)
    lefts, tops, rights, bottoms = zip(*nodes, strict=True)
    covered = (max(rights) - min(lefts)) / (pane[2] - pane[0]), (max(bottoms) - min(tops)) / (pane[3] - pane[1])
    assert min(covered) > 0.4 and max(covered) > 0.8
    assert len(seen["rects"]) > width / 12 and all(is_within(label, pane) for label in seen["rects"])
    pairs = [(a, b) for i, a in enumerate(seen["rects"]) for b in seen["rects"][:i]]
    assert not any(overlap(*pair) for pair in pairs) and all(text["size"] >= 10.9 for text in seen["texts"])
    explorer.screenshot(f"deep_{width}_{theme}")


def test_no_type_of_a_value_without_its_edge(explorer):
    """Where an edge leaves a box at its side, no type stands below the box."""
    f = Level()
    x = f.input("x")
    skipping, value = f.eqn("sin", x), x
    for operation in ("cos", "tanh", "exp"):
        value = f.eqn(operation, value)
    loss = f.eqn("mul", value, skipping)
    ct = f.eqn("neg", loss, role="backward", of="4")
    explorer.page.set_viewport_size({"width": 340, "height": 1000})
    explorer.show(f.jaxpr(f.eqn("transpose", ct, role="backward", of="3")))
    script = """view => [...view.querySelectorAll('.xs-node:has(.xs-type)')].map(n => {
        const body = n.querySelector('.xs-body'), [y, h] = ['y', 'height'].map(name => +body.getAttribute(name));
        const starts = [...view.querySelectorAll(`.xs-edge[data-from="${n.dataset.id}"]`)].map(
            edge => +/^M[^,]+,([-.0-9]+)/.exec(edge.getAttribute('d'))[1]);
        return starts.some(start => Math.abs(start - y) < 1 || Math.abs(start - y - h) < 1);
    })"""
    with_edge = explorer.find(".xs-view").evaluate(script)
    assert with_edge and all(with_edge)


def test_numbers_on_nodes_follow_the_colour(explorer):
    explorer.show(layered())
    explorer.group("none")
    explorer.find("[data-command=flops]").click()
    assert explorer.node("0").locator(".xs-sub").text_content() == "64 FLOP"
    assert "roofline estimate" in explorer.find(".xs-legend").inner_text()
    explorer.find("[data-command=time]").click()
    assert explorer.node("0").locator(".xs-sub").text_content() == "not measured"


def test_what_answers_a_click_to_open_a_box_is_never_painted(explorer):
    """It lies over the box: painted, it would hide the name."""
    explorer.show(layered())
    painted = "all => all.map(one => getComputedStyle(one).fill).filter(fill => fill !== 'rgba(0, 0, 0, 0)')"
    for command in ("flops", "bytes", "pass", "expand", "flops"):
        explorer.find(f"[data-command={command}]").click()
        areas = explorer.find(".xs-toggle.hit")
        assert areas.count() > 0
        assert areas.evaluate_all(painted) == []
        assert explorer.find(".xs-node[class*=heat-]").count() > 0 or command in ("pass", "expand")


def test_the_least_time_is_said_when_the_machines_ceilings_are_known(explorer):
    state = state_of([traced(layered())])
    ceilings = {"flops_per_s": 1e9, "bytes_per_s": 1e6, "source": "measured here"}
    explorer.show(layered(), live=state["live"] | {"ceilings": ceilings})
    explorer.group("none")
    explorer.press(explorer.node("0"))
    assert "at least 768 µs alone, by the ceiling of memory" in explorer.detail()
    assert "measured here" in explorer.detail()


def test_opening_leaves_the_box_in_place_and_the_rest_in_order(explorer):
    explorer.show(loops())
    explorer.group("none")
    before = explorer.node("1").bounding_box()
    explorer.node("1").locator(".xs-toggle.hit").click()
    after = explorer.node("1").locator("> .xs-body").bounding_box()
    assert abs(after["x"] - before["x"]) < 4 and abs(after["y"] - before["y"]) < 4


@pytest.mark.parametrize("canvas", [False, True])
def test_an_edge_is_selected_by_a_click_near_it(explorer, canvas):
    f = Level()
    x = f.input("x")
    for _ in range(1100 if canvas else 5):
        x = f.eqn("sin", x)
    explorer.show(f.jaxpr(x))
    explorer.group("none")
    box = explorer.find(".xs-canvas-host" if canvas else ".xs-graph-svg").bounding_box()
    middle = box["x"] + box["width"] / 2
    # A short chain stands in the middle of the pane, a long one in columns beside each other.
    for x, y in itertools.product(range(2, 80, 5) if canvas else [2], range(0, 300, 6 if not canvas else 31)):
        explorer.page.mouse.click(middle + x, box["y"] + 60 + y)
        told = explorer.detail()
        if "→" in told:
            break
    assert told.count("sin") == 2


def test_a_program_without_equations_draws_inputs_to_outputs(explorer):
    variables = {name: Variable(name, (3,), "float32", False) for name in "abc"}
    explorer.show(Jaxpr("swap", (), ("a", "b"), ("b", "a", "a"), variables, ()))
    assert explorer.find(".xs-node.input").count() == 2
    assert explorer.find(".xs-node.output").count() == 3
    assert explorer.find(".xs-edge").count() == 3


def test_keys_are_listed_and_reachable(explorer):
    explorer.show(layered())
    explorer.find(".xs-graph-svg").focus()
    explorer.page.keyboard.press("?")
    assert "jump from a backward equation" in explorer.find(".xs-help").inner_text()
    explorer.page.keyboard.press("Escape")
    assert explorer.find(".xs-help").is_hidden()
    explorer.page.keyboard.press("g")
    assert explorer.page.evaluate("document.activeElement.className") == "xs-grouping"
    explorer.find(".xs-graph-svg").focus()
    explorer.page.keyboard.press("l")
    assert explorer.find(".xs-outline").is_visible() and explorer.find(".xs-graph-svg").is_hidden()
    assert explorer.page.evaluate("document.activeElement.closest('.xs-outline') !== null")
    explorer.page.keyboard.press("ArrowDown")
    path = explorer.page.evaluate("document.activeElement.dataset.path")
    explorer.page.keyboard.press("l")
    assert explorer.page.evaluate("document.activeElement.closest('.xs-graph-svg') !== null")
    assert explorer.page.evaluate("document.activeElement.dataset.path") == path


def test_the_list_is_a_tree_that_the_keyboard_walks(explorer):
    explorer.show(loops())
    explorer.group("none")
    explorer.find("[data-command=list]").click()
    rows = explorer.find(".xs-outline [role=treeitem]")
    assert rows.count() == 3
    rows.first.focus()
    explorer.page.keyboard.press("ArrowRight")
    assert rows.first.get_attribute("aria-expanded") == "true"
    explorer.page.keyboard.press("ArrowRight")
    focused = "document.activeElement.dataset.path"
    assert explorer.page.evaluate(focused) == "0/0"
    explorer.page.keyboard.press("Enter")
    assert "sin" in explorer.detail()
    explorer.page.keyboard.press("ArrowLeft")
    assert explorer.page.evaluate(focused) == "0"
    explorer.page.keyboard.press("ArrowLeft")
    assert rows.first.get_attribute("aria-expanded") == "false"
    explorer.page.keyboard.press("End")
    assert explorer.page.evaluate(focused) == "2"


def test_hostile_names_are_inert_in_groups_and_lists(explorer):
    f = Level()
    x = f.input(HOSTILE)
    for i in range(20):
        x = f.eqn(HOSTILE, x, function=HOSTILE, scope=HOSTILE, line=i)
    explorer.show(f.jaxpr(x, name=HOSTILE))
    for kind in ("none", "scope", "function", "line"):
        explorer.group(kind)
    explorer.find("[data-command=list]").click()
    explorer.find(".xs-outline-row").first.click()
    explorer.page.wait_for_timeout(50)
    assert explorer.page.evaluate("window.hacked") is None
    assert explorer.find(".xs-root img, .xs-root script").count() == 0


def test_thousands_of_nodes_are_drawn_on_a_canvas_with_a_tree_beside_it(explorer):
    explorer.show(mixed(3000))
    explorer.group("none")
    canvas = explorer.find(".xs-canvas-host")
    assert canvas.is_visible() and explorer.find(".xs-node").count() == 0
    # Something is painted, in the colour of the forward pass.
    painted = """() => {
        const canvas = document.querySelector('.xs-canvas');
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let blue = 0;
        for (let i = 0; i < data.length; i += 4)
            if (data[i] === 0x2f && data[i + 1] === 0x6f && data[i + 2] === 0xde) blue++;
        return blue;
    }"""
    explorer.page.wait_for_timeout(100)
    assert explorer.page.evaluate(painted) > 100
    canvas.focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        explorer.page.keyboard.press(key)
    focused = explorer.page.evaluate("document.activeElement.getAttribute('role')")
    assert focused == "treeitem" and 0 < explorer.find(".xs-outline-row").count() < 100
    assert explorer.find(".xs-outline-row.selected").count() == 1
    selected = explorer.detail()
    # A click selects what is under it: the node that the keyboard selected was brought into sight.
    box = canvas.bounding_box()
    hits = set()
    for x in range(200, int(box["width"]) - 200, 60):
        for y in range(20, int(box["height"]), 15):
            explorer.page.mouse.move(box["x"] + x, box["y"] + y)
            hits.add(canvas.get_attribute("title"))
    assert any(title and "=" in title for title in hits)
    assert selected.split(" = ")[0]
    explorer.page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    explorer.page.wait_for_selector(".xs-root.dark")
    explorer.page.wait_for_timeout(150)
    assert explorer.page.evaluate(painted) == 0  # the dark theme's blue is another
    explorer.screenshot("explorer_canvas_dark")


def test_a_hundred_thousand_equations_open_grouped_and_answer(explorer):
    explorer.show()
    state = state_of([traced(mixed(100_000))])
    text = json.dumps({"programs": state["programs"], "live": state["live"]})
    assert len(text) < 8e6
    explorer.page.evaluate("text => { window.send(text) }", text)
    explorer.find(".xs-node.group").first.wait_for()  # `make bench` measures how long it takes
    assert 10 <= explorer.find(".xs-node.group").count() <= 30
    assert explorer.find(".xs-outline").is_hidden()
    explorer.find("[data-command=expand]").click()  # as far as it can be drawn
    assert explorer.find(".xs-outline").get_attribute("class").endswith("xs-unseen")
    explorer.find("[data-command=collapse]").click()
    box = explorer.find(".xs-node.group").first
    assert re.search(r"\d,\d\d\d equations", box.locator(".xs-sub").text_content())
    box.locator(".xs-toggle.hit").click()
    # With its equations the graph may have more nodes than elements can bear, or not: either way it is drawn.
    assert explorer.find(".xs-node, .xs-outline-row").count() > 10
    explorer.find(".xs-search").fill("v77777")
    explorer.find(".xs-search").press("Enter")
    assert "v77777" in explorer.detail()


def test_too_many_to_draw_is_a_list_at_once(explorer):
    explorer.show(mixed(40_000))
    explorer.group("none")
    assert "40,000 equations" in explorer.find(".xs-outline").inner_text()
    assert explorer.find(".xs-outline-row").count() < 100
    explorer.find('.xs-outline-row[data-path="3"]').click()
    assert "v3:" in explorer.detail()
    explorer.group("auto")
    assert 10 <= explorer.find(".xs-node.group").count() <= 30


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [700, 1400])
def test_screenshots(explorer, theme, width):
    explorer.page.set_viewport_size({"width": width, "height": 950})
    explorer.show(layered())
    explorer.group("function")
    if theme == "dark":
        explorer.page.evaluate("document.body.dataset.jpThemeLight = 'false'; document.body.style.background = '#111'")
        explorer.page.wait_for_selector(".xs-root.dark")
    explorer.open("layer")
    explorer.screenshot(f"explorer_{width}_{theme}")
    overflow = explorer.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0


def test_who_zooms_sees_what_is_painted_until_he_rests(explorer):
    """Thousands of nodes are painted anew now and then, not with every notch of the wheel."""
    explorer.show(mixed(1200))
    explorer.group("none")
    explorer.find(".xs-canvas-host").wait_for()
    explorer.find("[data-command=fit]").click()
    explorer.page.wait_for_timeout(300)
    explorer.page.evaluate("""() => {
        window.paints = 0;
        const {clearRect} = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.clearRect = function (...box) {
            window.paints += this.canvas.matches('.xs-canvas');
            clearRect.apply(this, box);
        };
    }""")
    # However slow the frames are, nobody rests before the last notch.
    notches = """async () => {
        const {setTimeout} = window;
        window.setTimeout = () => 0;
        const host = document.querySelector('.xs-canvas-host'), {left, top} = host.getBoundingClientRect();
        for (let i = 0; i < 40; i++) {
            if (i === 39) window.setTimeout = setTimeout;
            const at = {clientX: left + 200, clientY: top + 100, ctrlKey: true, deltaY: -40};
            host.dispatchEvent(new WheelEvent('wheel', {bubbles: true, cancelable: true, ...at}));
            await new Promise(done => requestAnimationFrame(done));
        }
        return window.paints;
    }"""
    painted = explorer.page.evaluate(notches)  # eleven times as near, and every 1.4 times it is painted
    assert painted <= 20
    sharp = "!/scale\\((?!1\\))/.test(document.querySelector('.xs-canvas').style.transform)"
    explorer.page.wait_for_function(sharp)
