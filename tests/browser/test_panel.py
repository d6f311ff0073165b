"""The panel in a real Chromium: on a plain page with a stand-in for the widget model, and in JupyterLab."""

import base64
import dataclasses
import importlib.util
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.browser.conftest import group_by

from xlascope.records import Failure
from xlascope_widgets import assets
from xlascope_widgets.update_scheduler import UpdateScheduler

SCREENSHOTS = Path(__file__).resolve().parents[2] / "build/screenshots"
WIDGETS = Path(__file__).resolve().parents[1] / "widgets"
HOSTILE = "</script><img src=x onerror='window.hacked=1'><b>bold"

# What a notebook's front end gives a widget, as far as the panel uses it.
PAGE = """<!doctype html><meta charset="utf-8"><style>%s</style>
<body style="margin:8px" data-jp-theme-light="true"><div id="host"></div><script type="module">
const {state, code} = JSON.parse(atob("%s"));
const handlers = {};
const model = {
  get: key => state[key], save_changes() {}, off() {},
  set(key, value) { state[key] = value; (handlers["change:" + key] ?? []).forEach(handler => handler()); },
  on(event, handler) { (handlers[event] ??= []).push(handler); },
};
const address = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
const widget = (await import(address)).default;
widget.initialize({model});
window.draw = () => {
  const el = document.createElement("div");
  document.getElementById("host").replaceChildren(el);
  return widget.render({model, el});
};
window.undraw = window.draw();
window.leaked = [];
document.addEventListener("keydown", event => window.leaked.push(event.key));
window.model = model;
window.ready = true;
</script>"""


@pytest.fixture(scope="module")
def samples():
    spec = importlib.util.spec_from_file_location("xlascope_samples", WIDGETS / "samples.py")
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


def state_of(records, opened=True, finished=False):
    """The traits of a panel that has received these records."""
    state = {"uid": "test", "opened": opened, "programs": {}, "live": {}}

    def send(programs, live):
        state.update({"live": live} if programs is None else {"live": live, "programs": programs})
        return 0

    feed = UpdateScheduler(send)
    for record in records:
        feed.store.receive(record)
    feed._dirty = feed._grown = True
    feed.finished = finished
    feed.flush()
    return state


class Drawn:
    """A panel on a page."""

    def __init__(self, page):
        self.page = page
        self.errors = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def show(self, state):
        data = base64.b64encode(json.dumps({"state": state, "code": assets.browser_module()}).encode()).decode()
        self.page.set_content(PAGE % (assets.style(), data))
        self.page.wait_for_function("window.ready === true")

    def find(self, selector):
        return self.page.locator(selector)

    def show_equations(self):
        """Every equation of the outermost level, instead of what is seen first."""
        group_by(self.page, "none")
        self.find("[data-command=fit]").click()

    def equations(self):
        script = "nodes => nodes.map(node => node.dataset.path)"
        return self.find(".xs-node[data-kind=equation]").evaluate_all(script)

    def click(self, path):
        """Click an equation, bringing it into sight first, as a person would by dragging."""
        self.find(f'.xs-node[data-path="{path}"]').dispatch_event("pointerdown", {"button": 0})
        self.find(f'.xs-node[data-path="{path}"]').dispatch_event("pointerup", {"button": 0})

    def marked(self, selector, attribute):
        script = f"all => all.map(one => one.getAttribute('{attribute}'))"
        return set(self.find(f"{selector}.selected").evaluate_all(script))

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


@pytest.fixture
def blank(new_page):
    page = new_page(1280, 1000)
    drawn = Drawn(page)
    yield drawn
    page.close()
    assert drawn.errors == []


@pytest.fixture
def panel(blank, samples):
    blank.show(state_of(samples.training_records()))
    blank.show_equations()
    return blank


def test_phases_differ_by_more_than_their_colour(blank, samples):
    blank.show(state_of(samples.training_records(), finished=True))
    script = """all => all.map(one => [/pass-(\\w+)/.exec(one.className)[1], getComputedStyle(one).backgroundImage])
        .filter(([phase]) => phase !== 'unknown')"""
    for part in (".xs-legend .xs-chip[class*=pass-]", ".xs-kernel .xs-chip[class*=pass-]", ".xs-lanebar .xs-share"):
        signs = dict(blank.find(part).evaluate_all(script))
        assert len(signs) > 1 and len(set(signs.values())) == len(signs), part
    bars = """all => all.map(bar => [/pass-(\\w+)/.exec(bar.getAttribute('class'))[1],
        Boolean(bar.nextElementSibling?.matches('.xs-hatch, .xs-bar-name:has(+ .xs-hatch)'))])"""
    wide = blank.find(".xs-timeline .xs-bar[class*=pass-]").evaluate_all(bars)
    assert {phase for phase, hatched in wide if hatched} & {"backward", "update"}
    assert not any(hatched for phase, hatched in wide if phase == "forward")


@pytest.mark.parametrize("width", [700, 1100, 1700])
@pytest.mark.parametrize(
    ("tab", "answer", "what"),
    [
        ("", ".xs-graph", "nothing: the graph is first"),
        ("hottest", ".xs-timeline", "time a call"),
        ("memory", ".xs-timeline", "does not tell its plan"),
        ("kernels", ".xs-kernels", "kernels for"),
        ("replay", ".xs-kernels", "Ask XLA"),
    ],
)
def test_the_answer_to_a_magic_stands_first(blank, samples, width, tab, answer, what):
    blank.page.set_viewport_size({"width": width, "height": 1000})
    state = state_of(samples.training_records(), finished=True)
    state |= {"questions": ["why"], "live": state["live"] | ({"tab": tab} if tab else {})}
    blank.show(state)
    tops = "parts => parts.map(part => part.getBoundingClientRect().top)"
    parts = [".xs-graph", ".xs-timeline", ".xs-kernels", ".xs-source"]
    top = {part: blank.find(part).evaluate_all(tops)[0] for part in parts}
    assert top[answer] == min(top.values()) or (answer == ".xs-kernels" and width == 1700)  # there it stands beside
    assert what.startswith("nothing") or what in blank.find(answer).inner_text()


def test_the_strip_tells_the_state_without_being_opened(blank, samples):
    blank.show(state_of(samples.training_records(), opened=False))
    strip = blank.find(".xs-strip").inner_text()
    words = " ".join(strip.split())
    assert "traced update 51 eqns · 1.40 ms" in words
    assert "compiled 310 ms → 16 kernels" in words
    assert "running 3,214 calls · 1.82 ms each" in words
    assert re.search(r"cpu:0 \d+ % busy", words)
    assert blank.find(".xs-panel").is_hidden()
    blank.find(".xs-open").click()
    assert blank.find(".xs-panel").is_visible()
    assert 10 <= len(blank.equations()) <= 30


def test_the_strip_is_one_line(blank, samples):
    for width in (700, 1000, 1400):
        blank.page.set_viewport_size({"width": width, "height": 400})
        blank.show(state_of(samples.training_records(), opened=False))
        assert blank.find(".xs-strip").bounding_box()["height"] < 36, width


def test_every_equation_is_one_node_when_all_is_open(panel, samples):
    program = samples.training_jaxpr()
    assert Counter(panel.equations()) == Counter(e.path for e in program.equations)
    panel.find("[data-command=expand]").click()
    assert Counter(panel.equations()) == Counter(e.path for e in program.walk())
    panel.find("[data-command=collapse]").click()
    assert len(panel.equations()) == len(program.equations)


def test_a_body_opens_in_place_and_closes(panel):
    box = panel.find('.xs-node[data-path="9"]')
    assert box.get_attribute("aria-expanded") == "false"
    before = box.bounding_box()
    box.locator(".xs-toggle.hit").click()
    assert {"9", "9/0", "9/7"} <= set(panel.equations())
    assert "10/0" not in panel.equations()
    opened = panel.find('.xs-node[data-path="9"]')
    assert opened.get_attribute("aria-expanded") == "true"
    assert abs(opened.locator(".xs-body").bounding_box()["x"] - before["x"]) < 3
    opened.locator(".xs-toggle.hit").click()
    assert "9/0" not in panel.equations()


def test_one_selection_from_an_equation(panel):
    panel.find('.xs-node[data-path="3"]').click()
    assert panel.marked(".xs-node", "data-path") == {"3"}
    assert panel.marked(".xs-line", "data-line") == {"0:10"}
    assert panel.marked(".xs-kernel", "data-kernel") == {"broadcast_add_tanh_fusion.3"}
    assert panel.marked(".xs-hull", "data-kernel") == {"broadcast_add_tanh_fusion.3"}
    assert panel.find("rect.xs-bar.selected").count() == 2  # one on each device
    assert panel.find(".xs-node.related").evaluate_all("all => all.map(one => one.dataset.path)") == ["4", "5", "23"]
    told = panel.find(".xs-detail").inner_text()
    assert "tanh" in told and "In[7], line 10" in told and "(measured)" in told and "(roofline estimate)" in told
    panel.find('.xs-node[data-path="3"]').press("Escape")
    assert panel.find(".xs-panel .selected").count() == 0


def test_one_selection_from_a_line_a_kernel_and_a_bar(panel):
    panel.find('.xs-line[data-line="0:9"]').click()
    assert panel.marked(".xs-node", "data-path") == {"0", "1", "2", "24", "25"}
    assert "dot.7" in panel.marked(".xs-kernel", "data-kernel")
    panel.find('.xs-kernel[data-kernel="loop_fusion.4"]').click()
    assert panel.marked(".xs-node", "data-path") == {"4", "5", "23"}
    assert panel.marked(".xs-line", "data-line") == {"0:10"}
    panel.find('rect.xs-bar[data-kernel="dot.7"]').first.click()
    assert panel.marked(".xs-node", "data-path") == {"0"}
    assert panel.marked(".xs-line", "data-line") == {"0:9"}


def test_a_closed_box_is_marked_for_what_is_in_it(panel):
    panel.find('.xs-kernel[data-kernel="loop_fusion.5"]').click()
    assert panel.marked(".xs-node", "data-path") == {"9"}


def test_an_equation_without_a_source_says_so(panel):
    panel.click("33")
    assert "no source information" in panel.find(".xs-detail").inner_text()
    assert panel.marked(".xs-line", "data-line") == set()


def test_search(panel):
    panel.find(".xs-graph-svg").focus()
    panel.page.keyboard.press("/")
    panel.page.keyboard.type("tanh")
    assert panel.find('.xs-node[data-path="0"]').get_attribute("class").endswith("faint")
    assert "faint" not in panel.find('.xs-node[data-path="3"]').get_attribute("class")
    panel.page.keyboard.press("Enter")
    assert panel.marked(".xs-node", "data-path") == {"3"}
    panel.find(".xs-search").fill("reduce_max f32[128]")
    panel.find(".xs-search").press("Enter")
    assert panel.marked(".xs-node", "data-path") == {"9/0"}  # opened in place
    panel.find(".xs-search").fill("log_softmax(predict")  # the source line
    assert "equations fit" in panel.find(".xs-detail").inner_text()
    panel.find(".xs-search").press("Escape")
    assert panel.find(".faint").count() == 0


def test_the_keyboard_walks_and_does_not_leak(panel):
    panel.find(".xs-graph-svg").focus()
    keys = ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "b", "d", "d"]
    focused = []
    for key in keys:
        panel.page.keyboard.press(key)
        focused.append(panel.page.evaluate("document.activeElement.dataset?.id"))
    assert len(set(focused[:4])) == 4
    panel.find('.xs-node[data-path="3"]').press("Enter")
    assert panel.find(".xs-node.selected").count() == 1
    assert panel.page.evaluate("window.leaked") == []
    assert panel.find(".xs-root").get_attribute("data-lm-suppress-shortcuts") == "true"


def test_a_view_drawn_again_is_as_it_was(panel):
    panel.find('.xs-node[data-path="9"] .xs-toggle.hit').click()
    panel.find('.xs-node[data-path="3"]').click()
    panel.page.evaluate("() => { window.undraw(); window.undraw = window.draw(); }")
    assert "9/0" in panel.equations()
    assert panel.marked(".xs-node", "data-path") == {"3"}


def test_times_move_without_a_redraw(panel, samples):
    panel.find('.xs-node[data-path="0"]').evaluate("node => { node.dataset.kept = 'yes' }")
    records = [*samples.training_records()[:-1], samples.executed(calls=9999)]
    live = state_of(records)["live"] | {"seq": 99}
    panel.page.evaluate("live => window.model.set('live', live)", live)
    assert "9,999" in panel.find(".xs-strip").inner_text()
    assert panel.find('.xs-node[data-kept="yes"]').count() == 1
    panel.page.evaluate("live => window.model.set('live', {...live, seq: 5, programs: []})", live)
    assert "9,999" in panel.find(".xs-strip").inner_text()  # an older state than the last is dropped


def test_a_click_is_not_lost_while_news_arrive(panel, samples):
    live = state_of([*samples.training_records()[:-1], samples.executed(calls=9999)])["live"] | {"seq": 99}
    box = panel.find('.xs-kernel[data-kernel="dot.15"]').bounding_box()
    panel.page.mouse.move(box["x"] + 20, box["y"] + 10)
    panel.page.mouse.down()
    panel.page.evaluate("live => window.model.set('live', live)", live)
    panel.page.mouse.up()
    assert panel.marked(".xs-kernel", "data-kernel") == {"dot.15"}
    panel.page.wait_for_function("document.querySelector('.xs-strip').innerText.includes('9,999')")


def test_lists_are_walked_with_the_arrow_keys(panel):
    panel.find(".xs-kernels").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        panel.page.keyboard.press(key)
    assert panel.marked(".xs-kernel", "data-kernel") == {"dot.15"}
    panel.find(".xs-source").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        panel.page.keyboard.press(key)
    assert panel.marked(".xs-line", "data-line") == {"0:9"}


def test_what_is_being_done_is_told_by_the_browsers_clock(blank, samples):
    blank.show(state_of([samples.traced(), samples.started(time=time.time() - 2)], opened=False))
    clock = blank.find("[data-since]")
    first = float(clock.inner_text().split()[0])
    assert 1.9 < first < 5
    blank.page.wait_for_timeout(400)
    assert float(clock.inner_text().split()[0]) > first


def test_a_stage_that_the_cell_did_not_end_is_told(blank, samples):
    blank.show(state_of([samples.traced(), samples.started(stage="compile")], opened=False, finished=True))
    assert "stopped while compiling update" in " ".join(blank.find(".xs-strip").inner_text().split())
    assert blank.find("[data-since]").count() == 0


def test_several_programs(blank, samples):
    small = [samples.traced(2, function="init"), samples.compiled(2, function="init")]
    blank.show(state_of([*samples.training_records(), *small]))
    choice = blank.find(".xs-choice")
    assert choice.locator("option").count() == 2
    assert choice.input_value() == "1"
    choice.select_option("2")
    assert "init" in blank.find(".xs-strip").inner_text()
    assert "and 1 other program" in blank.find(".xs-strip").inner_text()
    others = blank.find(".xs-strip .xs-asides [title]").first.get_attribute("title")
    assert others == "The largest first: update. Choose one in the open panel"


def test_colour_by_time_and_bytes(panel):
    panel.find("[data-command=time]").click()
    assert "heat-4" in panel.find('.xs-node[data-path="0"]').get_attribute("class")
    assert "measured" in panel.find(".xs-legend").inner_text()
    panel.find("[data-command=bytes]").click()
    assert "roofline estimate" in panel.find(".xs-legend").inner_text()
    panel.screenshot("panel_bytes")


def test_hostile_text_is_inert(blank, samples):
    jaxpr = samples.training_jaxpr()
    first = dataclasses.replace(jaxpr.equations[0], operation=HOSTILE, parameters=HOSTILE)
    variables = {n: dataclasses.replace(v, label=HOSTILE) for n, v in jaxpr.variables.items()}
    hostile = dataclasses.replace(jaxpr, equations=(first, *jaxpr.equations[1:]), variables=variables)
    traced = samples.traced(jaxpr=hostile, function=HOSTILE)
    source = dataclasses.replace(traced.sources[0], text=HOSTILE + "\n" + traced.sources[0].text, title=HOSTILE)
    traced = dataclasses.replace(traced, sources=(source,), reason=HOSTILE)
    kernel = dataclasses.replace(samples.kernels()[0], name=HOSTILE)
    compiled = dataclasses.replace(samples.compiled(), kernels=(kernel,))
    failure = Failure(1, HOSTILE, "run", 1.0, HOSTILE, HOSTILE)
    blank.show(state_of([traced, compiled, samples.executed(), failure]))
    blank.show_equations()
    blank.find('.xs-node[data-path="0"]').click()
    blank.page.wait_for_timeout(100)
    assert blank.page.evaluate("window.hacked") is None
    assert blank.find(".xs-root img, .xs-root script, .xs-root b:has-text('bold') b").count() == 0
    assert HOSTILE in blank.find(".xs-source").inner_text()


def test_a_failure_shows_what_was_recorded_before(blank, samples):
    failure = Failure(1, "update", "compile", 1.0, "XlaRuntimeError", "RESOURCE_EXHAUSTED: out of memory")
    blank.show(state_of([samples.traced(), failure], finished=True))
    assert "XlaRuntimeError" in blank.find(".xs-strip").inner_text()
    assert "RESOURCE_EXHAUSTED" in blank.find(".xs-notes").inner_text()
    assert len(blank.equations()) >= 10
    blank.screenshot("panel_failure")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_could_not_be_read_is_said_where_it_would_have_been(blank, samples, theme):
    kernels, times = f"no kernels can be shown: {HOSTILE}", f"no kernel's time can be shown: {HOSTILE}"
    *before, compiled, executed = samples.training_records()
    compiled = dataclasses.replace(compiled, kernels=(), notes=(kernels,))
    executed = dataclasses.replace(executed, devices=(), observed_calls=0, notes=(times,))
    blank.show(state_of([*before, compiled, executed], finished=True))
    if theme == "dark":
        blank.page.evaluate("document.body.dataset.jpThemeLight = 'false'; document.body.style.background = '#111'")
        blank.page.wait_for_selector(".xs-root.dark")
    said = blank.find(".xs-notes .xs-note").all_inner_texts()
    assert [text.removeprefix("×\n") for text in said] == [kernels, times]  # beside what closes them
    assert blank.find(".xs-kernels .xs-unread").inner_text() == kernels
    for tab, note in {"hottest": times, "memory": kernels, "timeline": times}.items():
        blank.find(f'[data-time="tab {tab}"]').click()
        assert blank.find(".xs-timeline .xs-unread").inner_text() == note
        blank.screenshot(f"panel_unread_{tab}_{theme}")
    assert blank.page.evaluate("window.hacked") is None
    blank.find("[data-tab=crossing]").click()
    assert blank.find(".xs-kernels .xs-unread").inner_text() == kernels


def test_dragging_pans_and_the_wheel_scrolls_the_notebook_unless_asked(panel):
    view = panel.find(".xs-view")
    svg = panel.find(".xs-graph-svg").bounding_box()
    before = view.get_attribute("transform")
    panel.page.mouse.move(svg["x"] + 300, svg["y"] + 60)
    panel.page.mouse.wheel(0, 100)
    assert view.get_attribute("transform") == before
    panel.page.mouse.down()
    panel.page.mouse.move(svg["x"] + 250, svg["y"] + 30, steps=3)
    panel.page.mouse.up()
    assert view.get_attribute("transform") != before
    assert panel.find(".xs-panel .selected").count() == 0
    panel.page.keyboard.down("Control")
    panel.page.mouse.wheel(0, -200)
    panel.page.keyboard.up("Control")
    moved = "() => !document.querySelector('.xs-view').getAttribute('transform').includes('scale(1.0000)')"
    panel.page.wait_for_function(moved)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [700, 1000, 1400])
def test_screenshots(blank, samples, theme, width):
    blank.page.set_viewport_size({"width": width, "height": 900})
    blank.show(state_of(samples.training_records()))
    if theme == "dark":
        blank.page.evaluate("document.body.dataset.jpThemeLight = 'false'; document.body.style.background = '#111'")
        blank.page.wait_for_selector(".xs-root.dark")
    blank.find('.xs-node[data-path="3"]').click()
    blank.screenshot(f"panel_{width}_{theme}")
    overflow = blank.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0


LAB_CELL = f"""
import sys, time
sys.path.insert(0, {str(WIDGETS)!r})
import samples
from IPython.display import display
from xlascope_widgets import Panel
panel = Panel(opened=True)
data, metadata = panel.bundle()
handle = display(data, metadata=metadata, raw=True, display_id=True)
for record in samples.training_records():
    panel.receive(record)
for calls in range(1, 30):
    panel.receive(samples.executed(calls=calls * 100))
    time.sleep(0.1)
panel.finish()
data, metadata = panel.bundle()
handle.update(data, metadata=metadata, raw=True)
"""


def test_in_jupyterlab_it_lives_while_the_cell_runs_and_leaves_a_picture(lab):
    notebook = lab.new(LAB_CELL)
    notebook.run_all()
    output = notebook.cell_output(0)
    output.locator(".xs-node[data-path='3']").click(timeout=60_000)
    assert notebook.is_running(0)
    first = output.locator(".xs-strip").inner_text()
    notebook.page.wait_for_timeout(500)
    assert output.locator(".xs-strip").inner_text() != first
    assert notebook.is_running(0)
    notebook.wait_idle()
    assert output.locator(".xs-node.selected").get_attribute("data-path") == "3"  # survived the update of the display
    assert output.locator(".xs-root").count() == 1
    notebook.page.keyboard.press("b")
    assert notebook.page.evaluate("window.xlascopeLab.panel.content.widgets.length") == 1
    notebook.screenshot("panel_in_lab")
    notebook.theme("dark")
    notebook.cell_output(0).locator(".xs-root.dark").wait_for()
    notebook.screenshot("panel_in_lab_dark")
    notebook.theme("light")
    notebook.save()
    again = lab.reopen_untrusted(notebook)
    picture = again.cell_output(0).locator("img")
    picture.wait_for()
    assert picture.evaluate("image => image.complete && image.naturalWidth > 600")
    assert "dot.7" in again.cell_output(0).locator("pre").text_content()
    again.screenshot("panel_untrusted")
