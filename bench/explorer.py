"""The graph explorer in headless Chromium: layouts, how fast a large program opens, frames a second while panning."""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
from collections.abc import Iterable
from typing import Any

from playwright.sync_api import Page, sync_playwright

from xlascope.records import Equation, Jaxpr, SourceRange, Traced, Variable
from xlascope_widgets import assets, wire
from xlascope_widgets.linker import link
from xlascope_widgets.program_store import ProgramStore

_OPERATIONS = ("add", "mul", "tanh", "dot_general", "reduce_sum", "exp", "log", "transpose", "select_n", "max")
_ROUNDS = 5
_SECONDS = 4

_PAGE = """<!doctype html><meta charset="utf-8"><style>%s</style><body><div id="host"></div>"""

_START = """async ({panel, drawing}) => {
    const load = async code => await import(URL.createObjectURL(new Blob([code], {type: "text/javascript"})));
    window.drawing = (await load(drawing)).default;
    const state = {uid: "bench", opened: true, programs: {}, live: {}}, handlers = {};
    window.model = {
        get: key => state[key], save_changes() {}, off() {}, send() {},
        set(key, value) { state[key] = value; (handlers["change:" + key] ?? []).forEach(handler => handler()); },
        on(event, handler) { (handlers[event] ??= []).push(handler); },
    };
    const widget = (await load(panel)).default;
    widget.initialize({model});
    widget.render({model, el: document.getElementById("host")});
}"""

_LAYOUT = """text => {
    const program = new drawing.Program(JSON.parse(text));
    program.groupBy("none");
    const began = performance.now();
    drawing.layoutProgram(program, new Set());
    return (performance.now() - began) / 1000;
}"""

_OPEN = """async text => {
    model.set("programs", {});
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    const began = performance.now();
    const programs = JSON.parse(text);
    const live = {now: Date.now() / 1000, programs: [], failures: [], more: 0, main: 1, finished: true};
    model.set("live", {...live, seq: (window.seq = (window.seq ?? 0) + 1)});
    model.set("programs", programs);
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    return [(performance.now() - began) / 1000, document.querySelectorAll(".xs-node").length];
}"""

_PAN = """async seconds => {
    const host = document.querySelector(".xs-canvas-host");
    host.setPointerCapture = () => {};
    const box = host.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const fire = (kind, dx, dy) => {
        const at = {clientX: x + dx, clientY: y + dy};
        host.dispatchEvent(new PointerEvent(kind, {bubbles: true, button: 0, pointerId: 1, ...at}));
    };
    fire("pointerdown", 0, 0);
    let frames = 0;
    const began = performance.now();
    await new Promise(done => {
        const step = now => {
            const t = (now - began) / 1000;
            frames += 1;
            fire("pointermove", 250 * Math.sin(2 * t), 150 * Math.cos(1.5 * t));
            if (t < seconds) requestAnimationFrame(step);
            else done();
        };
        requestAnimationFrame(step);
    });
    fire("pointerup", 0, 0);
    return frames / ((performance.now() - began) / 1000);
}"""

# Ctrl and the wheel, in and out again, a notch a frame, about a point of the graph.
_ZOOM = """async seconds => {
    const host = document.querySelector(".xs-canvas-host");
    const box = host.getBoundingClientRect();
    const at = {clientX: box.left + box.width / 3, clientY: box.top + box.height / 3};
    let frames = 0;
    const began = performance.now();
    await new Promise(done => {
        const step = now => {
            const t = (now - began) / 1000;
            frames += 1;
            const deltaY = Math.sin(3 * t) > 0 ? -40 : 40;
            const notch = {bubbles: true, cancelable: true, ctrlKey: true, deltaY, ...at};
            host.dispatchEvent(new WheelEvent("wheel", notch));
            if (t < seconds) requestAnimationFrame(step);
            else done();
        };
        requestAnimationFrame(step);
    });
    return [frames, (performance.now() - began) / 1000];
}"""

Row = tuple[str, str, str]
"""What was measured, the number with its unit, the goal."""


def program(equations: int) -> Traced:
    """A random program: half of it is forward, the other half transposes that."""
    rng = random.Random(0)
    variables = {"x": Variable("x", (8, 8), "float32", False)}
    names, made = ["x"], []
    for i in range(equations):
        twin = equations - 1 - i
        backward = i >= equations // 2
        inputs = (names[-1], names[twin]) if backward else (names[-1], names[-1 - rng.randrange(min(6, len(names)))])
        name = f"v{i}"
        variables[name] = Variable(name, (rng.choice((4, 8, 16)), 8), "float32", False)
        made.append(
            Equation(
                str(i),
                rng.choice(_OPERATIONS),
                "",
                inputs,
                (name,),
                role="backward" if backward else "forward",
                source=SourceRange("model.py", i % 300 + 1, 0, i % 300 + 1, 9, "f"),
                transposes=str(twin) if backward else None,
                flops=i % 999,
            )
        )
        names.append(name)
    jaxpr = Jaxpr("f", (), ("x",), (names[-1],), variables, tuple(made))
    return Traced(1, "f", 0.0, 0.1, jaxpr, "", "first call")


def _sent(equations: int) -> str:
    main = ProgramStore.of([program(equations)]).main
    assert main is not None
    return json.dumps(wire.encode_heavy(main))


def _chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def explorer() -> list[Row]:
    """Every number of the explorer; none where there is no Chromium."""
    found = _chromium()
    if found is None:
        return []
    options = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=options)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_content(_PAGE % assets.style())
        drawing = f"export default {link(assets.STATIC, 'program/program.js', 'layout/layout.js')};"
        page.evaluate(_START, {"panel": assets.browser_module(), "drawing": drawing})
        rows = [*_layouts(page), *_opening(page), *_panning(page)]
        browser.close()
    return rows


class _Clock:
    """Runs JavaScript and tells the processor time that it took, which a busy machine leaves alone."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def _busy(self, kind: str = "TaskDuration") -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == kind))

    def script(self, script: str, given: Any) -> tuple[Any, float]:
        """What a script gives, and the time in scripts meanwhile."""
        began = self._busy("ScriptDuration")
        return self._page.evaluate(script, given), self._busy("ScriptDuration") - began

    def run(self, script: str, text: str) -> tuple[Any, float]:
        """What a script gives for a text that is in the page already, and its processor time."""
        self._page.evaluate("text => { window.text = text }", text)
        began = self._busy()
        return self._page.evaluate(f"() => ({script})(window.text)"), self._busy() - began


def _milliseconds(wall: Iterable[float], busy: Iterable[float]) -> str:
    return f"{statistics.median(wall) * 1000:.0f} ms ({statistics.median(busy) * 1000:.0f} ms of processor time)"


def _layouts(page: Page) -> list[Row]:
    rows = []
    for equations, goal in ((400, 0.1), (20_000, 1.0)):
        clock, text = _Clock(page), _sent(equations)
        wall, busy = zip(*(clock.run(_LAYOUT, text) for _ in range(_ROUNDS)), strict=True)
        # The processor time is that of reading the program, too.
        rows.append((f"layout of {equations:,} equations", _milliseconds(wall, busy), f"< {goal * 1000:.0f} ms"))
    return rows


def _opening(page: Page) -> list[Row]:
    text = '{"1": %s}' % _sent(100_000)  # noqa: UP031 (braces of JSON)
    clock = _Clock(page)
    runs, busy = zip(*(clock.run(_OPEN, text) for _ in range(_ROUNDS)), strict=True)
    words = f"100,000 equations ({len(text) / 1e6:.1f} MB) from text to a first picture of {runs[0][1]} nodes"
    return [(words, _milliseconds((run[0] for run in runs), busy), "< 1,000 ms")]


def _panning(page: Page) -> list[Row]:
    page.evaluate(_OPEN, '{"1": %s}' % _sent(5_000))  # noqa: UP031 (braces of JSON)
    page.locator(".xs-grouping").select_option("none")
    page.locator("[data-command=fit]").click()
    page.wait_for_timeout(500)
    frames = page.evaluate(_PAN, _SECONDS)
    return [("frames a second, panning 5,000 nodes, all drawn", f"{frames:.1f}", "≥ 55"), _zooming(page)]


def _zooming(page: Page) -> Row:
    (frames, lasted), script = _Clock(page).script(_ZOOM, _SECONDS)
    told = f"{frames / lasted:.1f} ({script / frames * 1000:.1f} ms of the page's script a frame)"
    return ("frames a second, zooming over 5,000 nodes, a notch of the wheel in each", told, "≥ 55")
