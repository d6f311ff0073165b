"""Timeline, hottest operations and memory in a real Chromium: zoom, walk, merge, select, with real records."""

import base64
import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.core.readers.made_profiles import gpu, space

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax
from xlascope.readers.profiles import read_profile
from xlascope.records import Compiled, Executed, Lowered, Span, Traced
from xlascope_widgets import assets
from xlascope_widgets.update_scheduler import UpdateScheduler

SCREENSHOTS = Path(__file__).resolve().parents[2] / "build/screenshots"

PAGE = """<!doctype html><meta charset="utf-8"><style>%s</style>
<body style="margin:8px" data-jp-theme-light="true"><div id="host"></div><script type="module">
const {state, code} = JSON.parse(atob("%s"));
const handlers = {};
window.model = {
  get: key => state[key], save_changes() {}, off() {}, send() {},
  set(key, value) { state[key] = value; (handlers["change:" + key] ?? []).forEach(handler => handler()); },
  on(event, handler) { (handlers[event] ??= []).push(handler); },
};
const address = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
const widget = (await import(address)).default;
widget.initialize({model});
widget.render({model, el: document.getElementById("host")});
window.ready = true;
</script>"""


def update(w, inputs):
    def loss(w):
        def cell(h, x):
            h = jnp.tanh(h @ w + x)
            return h, h

        return jnp.mean(lax.scan(cell, jnp.zeros(inputs.shape[1:]), inputs)[1] ** 2)

    return w - 0.1 * xs.grad(loss)(w)


@pytest.fixture(scope="module")
def measured():
    """The records of a step with two loops, measured."""
    w = 0.1 * np.random.default_rng(0).standard_normal((32, 32), np.float32)
    return list(inspect.timings(xs.jit(update), w, np.ones((10, 8, 32), np.float32)).records)


def of(records, kind):
    return next(record for record in records if isinstance(record, kind))


def with_spans(records, spans, devices=("cpu:0",)):
    """The same step with other bars, on some devices."""
    run = of(records, Executed)
    lanes = tuple(dataclasses.replace(run.devices[0], device=name, spans=tuple(spans)) for name in devices)
    return [*records, dataclasses.replace(run, devices=lanes)]


def state_of(records, tab=""):
    state = {"uid": "test", "opened": True, "programs": {}, "live": {}}
    feed = UpdateScheduler(
        lambda programs, live: state.update(live=live, **({"programs": programs} if programs else {})) or 0
    )
    for record in records:
        feed.store.receive(record)
    feed._dirty = feed._grown = feed.finished = True
    feed.tab = tab
    feed.flush()
    return state


class Panel:
    """A panel on a page, as far as time and memory go."""

    def __init__(self, page):
        self.page = page

    def show(self, records, width=1280, dark=False, tab=""):
        self.page.set_viewport_size({"width": width, "height": 1500})
        state = json.dumps({"state": state_of(records, tab), "code": assets.browser_module()})
        page = PAGE % (assets.style(), base64.b64encode(state.encode()).decode())
        self.page.set_content(page.replace('light="true"', 'light="false"') if dark else page)
        self.page.wait_for_function("window.ready === true")
        self.page.wait_for_selector(".xs-time-head")
        return self

    def find(self, selector):
        return self.page.locator(f".xs-timeline {selector}")

    def tab(self, name):
        self.find(f'[data-time="tab {name}"]').click()

    def bars(self, device="cpu:0"):
        """Bars of a lane: name, accessible name, x, y, width."""
        script = """all => all.map(bar => ({kernel: bar.dataset.kernel ?? '', label: bar.getAttribute('aria-label'),
            x: +bar.getAttribute('x'), y: +bar.getAttribute('y'), width: +bar.getAttribute('width')}))"""
        return self.find(f'[data-device="{device}"] rect').evaluate_all(script)

    def settle(self):
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.locator(".xs-timeline").screenshot(path=SCREENSHOTS / f"{name}.png")


@pytest.fixture
def panel(new_page):
    page = new_page(1280, 720)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield Panel(page)
    page.close()
    assert errors == []


def test_a_loops_kernels_stand_below_the_loop(panel, measured):
    panel.show(measured)
    bars = panel.bars()
    loops = [bar for bar in bars if bar["kernel"].startswith("scan")]
    top = min(bar["y"] for bar in bars)
    assert len(loops) == 2 and {bar["y"] for bar in loops} == {top}
    for loop in loops:
        inside = [b for b in bars if b["y"] > top and loop["x"] <= b["x"] + 1 <= loop["x"] + loop["width"]]
        assert inside
    assert "% of the kernels' time has an equation" in panel.find(".xs-time-words").inner_text()
    panel.screenshot("timeline_loops")


def test_zoom_and_pan_with_wheel_keys_buttons_and_pointer(panel, measured):
    panel.show(measured)
    all_bars = {bar["kernel"] for bar in panel.bars()}
    svg = panel.find(".xs-timeline-svg")
    box = svg.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] - 40
    panel.page.mouse.move(*middle)
    panel.page.mouse.wheel(0, -200)  # without a key the page scrolls
    panel.settle()
    assert panel.find(".xs-timeline-svg.zoomed").count() == 0
    panel.page.keyboard.down("Control")
    panel.page.mouse.wheel(0, -200)
    panel.page.mouse.wheel(0, -200)
    panel.page.keyboard.up("Control")
    panel.settle()
    assert panel.find(".xs-timeline-svg.zoomed").count() == 1
    assert "of" in panel.find(".xs-time-tools").inner_text()
    before = panel.bars()
    panel.page.mouse.down()
    panel.page.mouse.move(middle[0] + 150, middle[1], steps=4)
    panel.page.mouse.up()
    panel.settle()
    assert panel.bars() != before
    assert panel.find("rect.selected").count() == 0  # a drag selects nothing
    svg.focus()
    panel.page.keyboard.press("0")
    panel.settle()
    assert panel.find(".xs-timeline-svg.zoomed").count() == 0
    assert {bar["kernel"] for bar in panel.bars()} == all_bars
    for way in ("+", "zoom in"):
        panel.page.keyboard.press(way) if way == "+" else panel.find(f'[data-time="{way}"]').click()
        panel.settle()
        assert panel.find(".xs-timeline-svg.zoomed").count() == 1
    panel.find('[data-time="zoom fit"]').click()
    panel.settle()
    assert panel.find(".xs-timeline-svg.zoomed").count() == 0


def test_arrow_keys_walk_from_bar_to_bar_and_enter_selects(panel, measured):
    panel.show(measured)
    panel.find(".xs-timeline-svg").focus()
    walked = []
    for _ in range(4):
        panel.page.keyboard.press("ArrowRight")
        walked.append(panel.page.evaluate("document.activeElement.getAttribute('x')"))
    assert sorted(map(float, walked)) == list(map(float, walked)) and len(set(walked)) == 4
    panel.page.keyboard.press("ArrowLeft")
    assert panel.page.evaluate("document.activeElement.getAttribute('x')") == walked[2]
    panel.page.keyboard.press("Enter")
    focused = panel.page.evaluate("document.activeElement.getAttribute('data-kernel')")
    selected = panel.find("rect.selected").evaluate_all("all => all.map(bar => bar.dataset.kernel)")
    assert focused in selected
    assert panel.page.locator(".xs-kernel.selected").count() == 1


def test_a_step_of_very_many_runs_is_merged_with_counts_and_none_is_lost(panel, measured):
    names = [kernel.name for kernel in of(measured, Compiled).kernels]
    spans = [Span(names[i % len(names)], i * 2e-7, 1.5e-7) for i in range(20_000)]
    panel.show(with_spans(measured, spans))
    bars = panel.bars()
    assert len(bars) < 3000
    assert sum(runs(bar) for bar in bars) == 20_000
    several = [bar for bar in bars if "zoom in to see each" in bar["label"]]
    assert several and {bar["kernel"] for bar in several} == {""}
    panel.find("rect[data-zoom]").first.click()
    panel.settle()
    assert panel.find(".xs-timeline-svg.zoomed").count() == 1
    assert sum("the longest is" in bar["label"] for bar in panel.bars()) > 3  # as far as they were sent


def runs(bar):
    words = bar["label"].split()
    return int(words[0].replace(",", "")) if "close together" in bar["label"] else 1


def test_each_device_has_a_lane(panel, measured):
    spans = of(measured, Executed).devices[0].spans
    panel.show(with_spans(measured, spans, [f"cpu:{i}" for i in range(4)]))
    lanes = panel.find(".xs-lane").evaluate_all("all => all.map(lane => lane.dataset.device)")
    assert lanes == ["cpu:0", "cpu:1", "cpu:2", "cpu:3"]
    assert all(panel.bars(lane) for lane in lanes)
    panel.find(".xs-timeline-svg").focus()
    panel.page.keyboard.press("ArrowRight")
    panel.page.keyboard.press("ArrowDown")
    panel.page.keyboard.press("ArrowDown")
    assert panel.page.evaluate("document.activeElement.closest('.xs-lane')?.dataset.device") is not None


def test_copies_between_host_and_device_have_a_row_of_their_own(panel, measured):
    run = of(measured, Executed)
    end = max(span.start + span.duration for span in run.devices[0].spans)
    lane = dataclasses.replace(
        run.devices[0], transfers=(Span("MemcpyH2D", 0.0, end / 3), Span("MemcpyD2H", end / 2, end / 3))
    )
    panel.show([*measured, dataclasses.replace(run, devices=(lane,))])
    assert panel.find("rect.transfer").count() == 2
    words = panel.find(".xs-lane text").all_text_contents()
    assert "copy host → device" in words and "copy device → host" in words
    below = max(bar["y"] for bar in panel.bars() if bar["kernel"])
    assert float(panel.find("rect.transfer").first.get_attribute("y")) > below


def test_a_gpu_has_a_row_for_each_stream_and_its_copies_tell_their_rate(panel, measured):
    """Of a profile that is made by hand: no such device has run anything."""
    (module,) = read_profile(space(gpu(100, 200)), schedules={"jit_f": (("loop_add_fusion", "gemm_fusion_dot.2"),)})
    panel.show([*measured, dataclasses.replace(of(measured, Executed), devices=module.devices)])
    labels = panel.find(".xs-lane .xs-stream").evaluate_all("all => all.map(label => label.lastChild.textContent)")
    assert labels == ["#13", "#14", "copies"]
    bars = panel.bars("gpu:0")
    rows = {bar["kernel"]: bar["y"] for bar in bars if bar["kernel"]}
    assert rows["loop_add_fusion"] == rows["gemm_fusion_dot.2"] < rows["wrapped_sine"]
    tips = [" ".join(tip.split()) for tip in panel.find("rect.transfer title").all_text_contents()]
    assert tips == [
        "copy host → device: 40.0 kB in 4.00 µs, 10.0 GB/s (measured)",
        "copy device → host: 1.00 kB in 5.00 µs, 200 MB/s (measured)",
    ]
    said = " ".join(panel.find(".xs-time-head").inner_text().split())
    assert "idle 22 % of the step shown: neither kernel nor copy ran" in said
    panel.screenshot("timeline_gpu_made")


def test_bars_can_be_coloured_by_kind(panel, measured):
    panel.show(measured)
    panel.find('[data-time="colour kind"]').click()
    kinds = panel.find("rect[data-kernel]").evaluate_all("all => all.map(bar => bar.getAttribute('class'))")
    assert all("kind-" in kind for kind in kinds)
    assert "library call" in panel.find(".xs-legend").inner_text()


def test_the_host_shows_several_programs_nested_and_from_the_cache(panel, measured):
    traced, compiled = of(measured, Traced), of(measured, Compiled)
    inner = [
        dataclasses.replace(
            traced, program=9001, function="inner", time=traced.time + traced.seconds / 4, seconds=1e-4
        ),
        Lowered(9001, "inner", traced.time + traced.seconds / 3, 1e-4, 3),
        dataclasses.replace(
            compiled, program=9001, function="inner", time=compiled.time + 60, seconds=0.2, cache="hit"
        ),
    ]
    panel.show([*measured, *inner])
    words = panel.find("rect.host").evaluate_all("all => all.map(bar => bar.getAttribute('aria-label'))")
    assert any(each.startswith("load from cache inner: 200 ms") for each in words)
    assert any(each.startswith("XLA compile update") for each in words)
    rows = panel.find("rect.host").evaluate_all("all => new Set(all.map(bar => bar.getAttribute('y'))).size")
    assert rows == 2  # the inner trace ran within the outer one
    assert "⋯" in panel.find(".xs-timeline-svg").text_content()  # a minute of nothing is cut out
    panel.find('rect.host[data-program="9001"]').first.click(force=True)
    assert panel.page.locator(".xs-choice").first.input_value() == "9001"


def test_the_hottest_kernels_have_rates_and_bounds(panel, measured):
    panel.show(measured)
    panel.tab("hottest")
    words = panel.find(".xs-time-words").inner_text()
    assert "measured here" in words and "GB/s" in words
    table = panel.find("table").inner_text()
    assert "GFLOP/s" in table and re.search(r"(memory|compute), \d+ %|neither.* \(memory (< )?\d+ %", table)
    shares = panel.find("tbody tr td:nth-child(3)").all_inner_texts()
    assert len(shares) == len(of(measured, Executed).devices[0].kernels)
    panel.find('[data-time="order bytes"]').click()
    assert panel.find("th[aria-sort]").inner_text().startswith("B/s")
    panel.find("tbody tr").nth(2).focus()
    panel.page.keyboard.press("Enter")
    assert panel.find("tr.selected").count() >= 1
    panel.screenshot("hottest_kernels")
    for by in ("equations", "lines"):
        panel.find(f'[data-time="by {by}"]').click()
        panel.find("tbody tr").first.click()
        assert "selected" in panel.find("tbody tr").first.get_attribute("class")  # and what a loop holds with it
    assert "tanh" in panel.find("table").inner_text()


def test_without_ceilings_the_table_says_how_to_get_them(panel, measured):
    panel.show([record for record in measured if type(record).__name__ != "Ceilings"])
    panel.tab("hottest")
    assert "%timings" in panel.find(".xs-time-words").inner_text()


def test_memory_shows_the_peak_and_what_holds_it(panel, measured):
    panel.show(measured)
    panel.tab("memory")
    assert "at the peak" in panel.find("").first.inner_text()
    rows = panel.find("tbody tr")
    assert rows.count() > 3
    sizes = rows.locator("td:nth-child(2)").all_inner_texts()
    assert sizes[0].endswith("B")
    panel.find("tbody tr[data-kernel]").first.click()
    assert panel.find(".xs-memory-life").count() >= 1
    assert panel.page.locator(".xs-kernel.selected").count() >= 1
    panel.screenshot("memory")
    svg = panel.find(".xs-memory-svg")
    box = svg.bounding_box()
    svg.click(position={"x": 80, "y": box["height"] / 2})
    assert "here" in panel.find(".xs-hot-tools").inner_text()
    now = int(svg.get_attribute("aria-valuenow"))
    svg.focus()
    panel.page.keyboard.press("ArrowRight")
    assert int(panel.find(".xs-memory-svg").get_attribute("aria-valuenow")) == now + 1
    panel.find('[data-time="moment peak"]').click()
    assert "at the peak" in panel.find(".xs-hot-tools").inner_text()


@pytest.mark.parametrize(("asked", "shown"), [("memory", "memory"), ("hottest", "hottest"), ("<b>", "timeline")])
def test_a_question_puts_its_tab_in_front(panel, measured, asked, shown):
    panel.show(measured, tab=asked)
    assert panel.find("[aria-selected=true]").inner_text() == shown


def test_what_is_measured_later_is_taken_in_where_the_user_is(panel, measured):
    panel.show(measured)
    panel.tab("hottest")
    panel.page.evaluate("""() => {
        const live = structuredClone(model.get('live'));
        live.seq += 1;
        live.programs[0].executed.calls = 777777;
        model.set('live', live);
    }""")
    assert panel.find("[data-time='tab hottest']").get_attribute("aria-selected") == "true"
    assert "777,777" in panel.page.locator(".xs-strip").inner_text()


def test_a_program_that_did_not_run_says_so(panel, measured):
    panel.show([of(measured, Traced), of(measured, Compiled)])
    assert "not measured yet" in panel.find(".xs-time-words").inner_text()
    panel.tab("hottest")
    assert "not measured yet" in panel.find(".xs-time-words").inner_text()
    panel.tab("memory")
    assert panel.find(".xs-memory-area").count() == 1


@pytest.mark.parametrize(("width", "dark"), [(700, False), (1400, True)])
def test_every_tab_fits_where_it_is_shown(panel, measured, width, dark):
    panel.show(measured, width, dark)
    for tab in ("timeline", "hottest", "memory"):
        panel.tab(tab)
        assert panel.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        panel.screenshot(f"time_{tab}_{width}{'_dark' if dark else ''}")
