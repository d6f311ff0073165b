"""The doctor's card in a real Chromium: what it says, where it leads, and that nothing in it acts."""

import base64
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect
from xlascope.analysis.doctor import Evidence, diagnose
from xlascope.records import Compiled, DeviceTime, Diagnosis, Executed, Finding, KernelTime, Span, Traced
from xlascope_widgets import assets
from xlascope_widgets.update_scheduler import UpdateScheduler

SCREENSHOTS = Path(__file__).resolve().parents[2] / "build/screenshots"
HOSTILE = "</script><img src=x onerror='window.hacked=1'><b>bold"

PAGE = """<!doctype html><meta charset="utf-8"><style>%s</style>
<body style="margin:8px" data-jp-theme-light="%s"><div id="host"></div><script type="module">
const {state, code} = JSON.parse(atob("%s"));
const handlers = {};
window.sent = [];
window.model = {
  get: key => state[key], save_changes() {}, off() {}, send(message) { window.sent.push(message); },
  set(key, value) { state[key] = value; (handlers["change:" + key] ?? []).forEach(handler => handler()); },
  on(event, handler) { (handlers[event] ??= []).push(handler); },
};
const address = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
const widget = (await import(address)).default;
widget.initialize({model});
widget.render({model, el: document.getElementById("host")});
window.ready = true;
</script>"""


def step(params, x, query, labels):
    """A step in which three things are wrong."""
    hidden = jnp.tanh(x)
    best = jnp.sort(hidden[:, 0])[-10:]
    near = (hidden.T @ hidden) @ query
    return best, near, xs.nn.one_hot(labels, 64) @ params


TIMES = {"sort": 3e-3, "dot_general": 7e-3}  # three kernels sort


def examined():
    """The records of a call, with times as given, and their diagnosis."""
    shapes = [xs.ShapeDtypeStruct(axes, np.dtype(np.float32)) for axes in ((64, 64), (2048, 64), (64,))]
    shapes.append(xs.ShapeDtypeStruct((512,), np.dtype(np.int32)))
    found = list(inspect.fusions(xs.jit(step), *shapes).records)
    traced = next(each for each in found if isinstance(each, Traced))
    compiled = next(each for each in found if isinstance(each, Compiled))
    operations = {each.path: each.operation for each in traced.jaxpr.walk()}
    kernels, spans, at = [], [], 0.0
    for kernel in compiled.kernels:
        if kernel.kind != "call":
            seconds = max((TIMES.get(operations.get(path, ""), 1e-6) for path in kernel.equations), default=1e-6)
            kernels.append(KernelTime(kernel.name, 1, seconds))
            spans.append(Span(kernel.name, at, seconds))
            at += seconds
    device = DeviceTime("cpu:0", at, tuple(kernels), tuple(spans))
    run = Executed(traced.program, traced.function, 0.0, 120, 120 * at, at, 1, at, (device,), "host")
    found.append(run)
    return [*found, diagnose(Evidence.of(found))]


@pytest.fixture(scope="module")
def records():
    return examined()


@pytest.fixture
def blank(new_page):
    page = new_page(1280, 1000)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.close()
    assert errors == []


def show(page, found, light=True, finished=True, **more):
    """The panel of some records on a page."""
    state = {"uid": "test", "opened": True, "programs": {}, "live": {}, **more}

    def send(programs, live):
        state.update({"live": live} if programs is None else {"live": live, "programs": programs})
        return 0

    feed = UpdateScheduler(send)
    for record in found:
        feed.store.receive(record)
    feed._dirty = feed._grown = True
    feed.finished = finished
    feed.flush()
    data = base64.b64encode(json.dumps({"state": state, "code": assets.browser_module()}).encode()).decode()
    page.goto("about:blank")  # a new window: in the old one the panel before is ready already
    page.set_content(PAGE % (assets.style(), "true" if light else "false", data))
    page.wait_for_function("window.ready === true")
    return page.locator(".xs-doctor")


def test_three_findings_on_top(blank, records):
    card = show(blank, records)
    assert card.locator(".xs-doctor-row").count() == 3
    sort = " ".join(card.locator(".xs-doctor-row", has_text="sorted").inner_text().split())
    assert "2,048 values are sorted to keep 10 of them" in sort and "Do: take these alone: lax.top_k(x, 10)" in sort
    assert card.bounding_box()["y"] < blank.locator(".xs-head").bounding_box()["y"]


@pytest.mark.parametrize("light", [True, False], ids=["light", "dark"])
def test_the_look(blank, records, light):
    for width in (700, 1280):
        blank.set_viewport_size({"width": width, "height": 900})
        card = show(blank, records, light)
        assert card.is_visible()
        inside = card.evaluate("it => it.scrollWidth <= it.clientWidth")
        assert inside, "the card is wider than the panel"
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        blank.screenshot(path=SCREENSHOTS / f"doctor_{width}_{'light' if light else 'dark'}.png", full_page=True)


def test_a_finding_leads_to_its_equation(blank, records):
    card = show(blank, records)
    card.locator(".xs-doctor-row", has_text="sorted").locator(".xs-doctor-place").focus()
    blank.keyboard.press("Enter")
    blank.wait_for_function("document.querySelector('.xs-line.selected')")
    (sort,) = (each for each in records[0].jaxpr.walk() if each.operation == "sort")
    assert blank.locator(".xs-line.selected").get_attribute("data-line").endswith(f":{sort.source.line}")


def test_nothing_is_drawn_while_nobody_knows(blank, records):
    without = [each for each in records if not isinstance(each, Diagnosis)]
    assert show(blank, without, finished=False).is_hidden()
    assert show(blank, without).locator(".xs-doctor-row").count() == 3  # asked when the cell has ended


def test_a_healthy_program_has_no_card_unless_somebody_asked(blank, records):
    (diagnosis,) = (each for each in records if isinstance(each, Diagnosis))
    healthy = [each for each in records if not isinstance(each, Diagnosis | Executed)]
    assert show(blank, healthy).is_hidden()
    asked = show(blank, [*healthy, dataclasses.replace(diagnosis, findings=())])
    assert "No findings" in asked.inner_text()


def test_what_is_hostile_is_text(blank, records):
    (diagnosis,) = (each for each in records if isinstance(each, Diagnosis))
    bad = Finding("sorted for few", HOSTILE, HOSTILE, 0.5, 1.0, None, HOSTILE)
    card = show(blank, [*records, dataclasses.replace(diagnosis, findings=(bad,), notes=(HOSTILE,))])
    assert card.inner_text().count("onerror='window.hacked=1'") == 4
    assert card.locator("img, b:text('bold')").count() == 0 and blank.evaluate("window.hacked") is None


def test_a_change_is_tried_by_a_button(blank, records):
    """It asks the kernel, says how far that is, and shows both; without a kernel it says what it needs."""
    (diagnosis,) = (each for each in records if isinstance(each, Diagnosis))
    finding = dataclasses.replace(diagnosis.findings[0], what_if=("donate", "params", "x"))
    changed = [*records, dataclasses.replace(diagnosis, findings=(finding, *diagnosis.findings[1:]))]
    assert "needs the kernel" in show(blank, changed).inner_text()
    card = show(blank, changed, questions=["whatif"])
    assert card.locator("[data-ask]").count() == 1
    card.locator("[data-ask]").focus()
    blank.keyboard.press("Enter")
    (message,) = blank.evaluate("window.sent")
    asked = message["ask"]
    assert (asked["question"], asked["change"]) == ("whatif", ["donate", "params", "x"])
    assert "asked" in card.inner_text()
    assert blank.evaluate("document.activeElement.matches('.xs-doctor [data-cancel]')")
    number = asked.pop("id")
    blank.evaluate(
        "([number, asked, text]) => { model.set('answers', {[number]: {question: asked, state: 'done'}});"
        " model.set('findings', {[number]: {program: asked.program, text}}); }",
        [number, asked, f"as it is  →  donated {HOSTILE}"],
    )
    card.locator(".xs-answer").wait_for()
    assert "as it is  →  donated </script>" in card.locator(".xs-answer").inner_text()
    assert blank.evaluate("window.hacked") is None
