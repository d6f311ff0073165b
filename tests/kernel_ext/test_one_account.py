"""All views of a program tell the same times: text, JSON, chart, and what the panel's own code draws."""

import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import quickjs

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax
from xlascope.inspect.text import format_timings
from xlascope.records import Compiled, Executed, Record, Traced
from xlascope_widgets import assets
from xlascope_widgets.export.charts import chart, texts_of
from xlascope_widgets.linker import link
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.static_state import make_static_state
from xlascope_widgets.text import store_text

Times = dict[str, float]


def matrix(*shape: int) -> Any:
    return 0.1 * np.random.default_rng(0).standard_normal(shape, np.float32)


def norms() -> list[Record]:
    """Per-example gradients, clipped: XLA writes the norms without a name."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        h = jnp.tanh(x @ params["w1"] + params["b1"])
        return -xs.nn.log_softmax(h @ params["w2"])[y]

    @xs.jit
    def clipped(params: Any, x: Any, y: Any) -> Any:
        gradients = xs.vmap(xs.grad(loss), in_axes=(None, 0, 0))(params, x, y)
        squares = xs.vmap(lambda g: sum(jnp.vdot(leaf, leaf) for leaf in xs.tree_util.tree_leaves(g)))
        scale = jnp.minimum(1.0, 1.0 / jnp.sqrt(squares(gradients)))
        return xs.tree_util.tree_map(lambda g: jnp.einsum("b,b...->...", scale, g), gradients)

    params = {"w1": matrix(64, 128), "b1": matrix(128), "w2": matrix(128, 10)}
    return list(inspect.timings(clipped, params, matrix(64, 64), np.arange(64, dtype=np.int32) % 10).records)


def loop() -> list[Record]:
    """A kernel that runs fifty times in a call."""

    def body(_: Any, x: Any) -> Any:
        return jnp.tanh(x @ x)

    return list(inspect.timings(lambda x: lax.fori_loop(0, 50, body, x) + 1.0, matrix(64, 64)).records)


def attention() -> list[Record]:
    """The gradient of a block of a transformer."""

    def block(weights: Any, x: Any) -> Any:
        query, key, value, up, down = weights
        h = (x - jnp.mean(x, axis=-1, keepdims=True)) / jnp.sqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-5)
        x = x + xs.nn.softmax((h @ query) @ (h @ key).T) @ (h @ value)
        return jnp.mean((x + jnp.tanh(x @ up) @ down) ** 2)

    weights = [matrix(32, 32), matrix(32, 32), matrix(32, 32), matrix(32, 128), matrix(128, 32)]
    return list(inspect.timings(xs.grad(block), weights, matrix(64, 32)).records)


def changed(found: list[Record], change: Callable[[Executed], Executed]) -> list[Record]:
    return [change(each) if isinstance(each, Executed) else each for each in found]


def overlapping() -> list[Record]:
    """Kernels side by side: something ran for half of the sum of their times."""

    def side_by_side(run: Executed) -> Executed:
        devices = [dataclasses.replace(d, busy=sum(k.seconds for k in d.kernels) / 2) for d in run.devices]
        return dataclasses.replace(run, devices=tuple(devices), clock="host")

    return changed(attention(), side_by_side)


def parts() -> list[Record]:
    """Windows that saw no whole call."""

    def cut(run: Executed) -> Executed:
        devices = [dataclasses.replace(d, busy=0.0, kernels=(), spans=d.spans[:3], whole=False) for d in run.devices]
        return dataclasses.replace(run, devices=tuple(devices), observed_calls=0, step=0.162, clock="host")

    return changed(loop(), cut)


@pytest.fixture(scope="module", params=[norms, loop, attention, overlapping, parts], ids=lambda each: each.__name__)
def found(request: pytest.FixtureRequest) -> list[Record]:
    records: list[Record] = request.param()
    return records


# What each view says -------------------------------------------------------------------------------------------------

_UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"([\d.]+(?:e[+-]\d+)?) (s|ms|µs|ns)\b")


def duration(text: str) -> float:
    match = _DURATION.search(text)
    assert match is not None, text
    return float(match[1]) * _UNITS[match[2]]


def columns(text: str, heading: str) -> list[list[str]]:
    """The rows of the table that a heading begins, cell by cell."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith(heading)), len(lines) - 1)
    rows = []
    for line in lines[first + 1 :]:
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) < 2:
            break
        rows.append(cells)
    return rows


class Panel:
    """The panel's views as its own code draws them, without a browser."""

    MODULES = (
        "store/store.js",
        "ground/element.js",
        "compiler/kernels_pane.js",
        "time/hottest_pane.js",
        "time/draw_timeline.js",
        "source/source_pane.js",
        "frame/strip.js",
        "frame/side_tabs.js",
    )

    def __init__(self, records: list[Record]) -> None:
        self._context = quickjs.Context()
        self._context.eval(f"Object.assign(globalThis, {link(assets.STATIC, *self.MODULES)})")
        state = make_static_state(ProgramStore.of(records))
        programs, live = (f"JSON.parse({json.dumps(json.dumps(state[name]))})" for name in ("programs", "live"))
        self._context.eval(f"globalThis.store = new Store(); store.takeLive({live}); store.takePrograms({programs});")

    def text(self, expression: str) -> str:
        return str(self._context.eval(f"[{expression}].join('')"))

    def drawn(self, expression: str) -> ElementTree.Element:
        markup = self.text(f"toMarkup(el('div', {{}}, {expression}))")
        return ElementTree.fromstring(markup)

    def kernels(self) -> dict[str, tuple[float, float]]:
        """Seconds and share of each kernel in the list of kernels."""
        rows = self.drawn("drawSide(store)").iter("div")
        told = {}
        for row in rows:
            number = row.find(".//span[@title='measured']")
            if row.get("data-kernel") and number is not None:
                bar = row.find("div[@title]/i")
                assert bar is not None
                share = float(re.sub(r"[^\d.]", "", bar.get("style", ""))) / 100
                told[str(row.get("data-kernel"))] = duration(str(number.text)), share
        return told

    def hottest(self, by: str) -> dict[str, tuple[float, str]]:
        """Seconds and share of each kernel, equation or line in the list of what is hottest."""
        rows = self.drawn(f"drawHottest(store, {{by: '{by}', order: 'time'}})").iter("tr")
        cells = {
            (row.get("data-kernel") or row.get("data-row")): ["".join(c.itertext()) for c in row.iter("td")]
            for row in rows
        }
        return {str(name): (duration(each[1]), each[2]) for name, each in cells.items() if name}

    def lines(self) -> Times:
        """Seconds of each line of source, by its number."""
        rows = [row for row in self.drawn("drawSource(store)").iter("div") if row.get("data-line")]
        told = {
            str(row.get("data-line")).split(":")[1]: [str(c.text or "") for c in row.iter("span")][1] for row in rows
        }
        return {line: duration(time) for line, time in told.items() if time}


def agree(told: Times, truth: Times, rounding: float = 0.006) -> None:
    """Numbers of three digits, and tenths of nanoseconds at most, for the same things."""
    assert told.keys() == truth.keys()
    assert told == {name: pytest.approx(value, rel=rounding, abs=5.1e-11) for name, value in truth.items()}


def account(found: list[Record]) -> Any:
    """The account as JSON tells it, after a way through a file."""
    return json.loads(json.dumps(inspect.Inspection("timings", found, "").to_json()))["account"]


# The views agree -----------------------------------------------------------------------------------------------------


def test_all_views_tell_the_same_times(found: list[Record]) -> None:
    truth = account(found)
    run = next(each for each in found if isinstance(each, Executed))
    kernels = {each["kernel"]: each["seconds"] for each in truth.get("mean", {}).get("kernels", ())}
    shares = {each["kernel"]: each["share"] for each in truth.get("mean", {}).get("kernels", ())}
    lines = {str(each["line"]): each["seconds"] for each in truth.get("lines", ())}
    panel, text = Panel(found), format_timings(found)

    rows = columns(text, "kernel on")
    agree({row[0]: duration(row[1]) for row in rows}, kernels)
    agree({row[0].rpartition(":")[2]: duration(row[1]) for row in columns(text, "source line")}, lines)
    summary = columns(store_text(ProgramStore.of(found)), "kernel ")
    agree({row[0]: duration(" ".join(row)) for row in summary if "(measured)" in " ".join(row)}, kernels)

    agree({name: time for name, (time, _) in panel.kernels().items()}, kernels)
    agree({name: time for name, (time, _) in panel.hottest("kernels").items()}, kernels)
    for name, (_, share) in panel.kernels().items():
        assert share == pytest.approx(shares[name], abs=6e-4)
    for name, (_, share) in panel.hottest("kernels").items():
        told = next(row[2] for row in rows if row[0] == name)
        assert told.split(" %")[0] == share.split(" %")[0] == percent(shares[name])
    agree(panel.lines(), lines)
    hot = {name.rpartition(":")[2]: time for name, (time, _) in panel.hottest("lines").items()}
    agree(hot, lines)
    equations = {f"equation {path}": time for path, time in truth.get("equations", {}).items()}
    hot = {name: time for name, (time, _) in panel.hottest("equations").items()}
    agree(hot, {name: equations[name] for name in hot})
    assert len(hot) == min(60, len(equations))

    for said in (text, store_text(ProgramStore.of(found)), panel.text("describeTimeline(store.program)")):
        assert shown(run.step) in said
    strip = "".join(panel.drawn("drawStrip(store, true)").itertext())
    assert shown(run.step) in strip
    if truth.get("mean"):
        busy = truth["mean"]["busy"]
        assert f"{percent(busy)} % busy" in strip or f"{percent(busy)} %" in strip
        share = percent(truth["attributed"])
        assert f"{share} % of the kernels' time" in text
        assert f"{share} % of the kernels' time" in panel.text("describeTimeline(store.program)")
        bars = chart(found, "lines").axes[0]
        widths = {
            label.get_text(): bar.get_width() for label, bar in zip(bars.get_yticklabels(), bars.patches, strict=True)
        }
        numbers = {re.search(r":(\d+) ", name + " ")[1]: width for name, width in widths.items()}
        agree(numbers, lines, 1e-6)
        assert sum(equations.values()) == pytest.approx(truth["attributed"] * truth["mean"]["kernel_seconds"])


def percent(share: float) -> str:
    return "< 1" if 0 < share < 0.01 else "99" if 0.99 < share < 1 - 1e-9 else f"{100 * share:.0f}"


def shown(seconds: float) -> str:
    """The first two digits are alike however the third is rounded."""
    for size in (1.0, 1e-3, 1e-6):
        if seconds >= size * 0.9995:
            return f"{seconds / size:.3g}"[:2]
    return ""


def test_kernels_side_by_side_have_two_sums_everywhere() -> None:
    found = overlapping()
    mean = account(found)["mean"]
    panel = Panel(found)
    assert mean["kernel_seconds"] == pytest.approx(2 * mean["running_seconds"])
    views = (
        format_timings(found),
        store_text(ProgramStore.of(found)),
        panel.text("toMarkup(el('div', {}, drawSide(store)))"),
        panel.text("toMarkup(el('div', {}, drawHottest(store, {by: 'kernels', order: 'time'})))"),
    )
    for view in views:
        (said,) = {
            line for line in re.split(r"[\n<>·;]\s*(?=kernels)", view) if " overlap" in line and "add up to" in line
        }
        both = [float(a) * _UNITS[b] for a, b in _DURATION.findall(said.partition("add up to")[2])[:2]]
        assert both == [pytest.approx(mean[name], rel=0.01) for name in ("kernel_seconds", "running_seconds")]


def test_of_parts_of_a_step_no_view_ranks_kernels() -> None:
    found = parts()
    panel, text = Panel(found), format_timings(found)
    words = panel.text("describeTimeline(store.program)")
    assert words.startswith("part of a step · 162 ms a call (host clock)")
    strip = "".join(panel.drawn("drawStrip(store, true)").itertext())
    assert "162 ms each" in strip and "busy" not in strip
    assert ">part<" in panel.text("toMarkup(el('div', {}, drawTimeline(store.program, 800).tree))")
    assert "the profiler saw no whole call" in text and "source line" not in text and "%" not in text
    assert panel.kernels() == panel.lines() == {} and not panel.hottest("kernels")
    figure = chart(found, "timeline")
    assert figure.axes[0].get_title(loc="left").startswith("Part of a step")
    assert any("162" in said for said in texts_of(figure))
    with pytest.raises(ValueError, match="nothing was measured"):
        chart(found, "lines")


def test_the_norms_are_given_to_their_own_line() -> None:
    """A kernel of multiply and reduce-window without a name was given to the line that consumes it."""
    found = norms()
    compiled, traced = (next(r for r in found if isinstance(r, kind)) for kind in (Compiled, Traced))
    equations = {each.path: each for each in traced.jaxpr.walk()}
    halves = [each for each in compiled.kernels if "reduce-window" in _body(compiled.hlo, each.name)]
    assert halves
    for kernel in halves:
        assert [equations[path].operation for path in kernel.equations] == ["dot_general"]
        assert "<lambda>" in equations[kernel.equations[0]].source.function  # the norms, not their minimum


def _body(hlo: str, kernel: str) -> str:
    """The computation fused into a kernel."""
    called = re.search(rf"%{re.escape(kernel)} = .* calls=%([\w.]+)", hlo)
    return hlo.partition(f"%{called[1]} (")[2].partition("\n}")[0] if called else ""
