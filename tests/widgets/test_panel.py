"""The widget as Python sees it: what it carries, and what it leaves in a saved notebook."""

import base64
import dataclasses
import json
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from xlascope.records import Equation, Failure, Jaxpr, Variable
from xlascope_widgets import Panel, assets, wire
from xlascope_widgets.text import format_bytes

ALLOWED = {"p", "img", "details", "summary", "pre"}


class Tags(HTMLParser):
    """The elements and attributes of a fragment."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.fixture
def panel(samples):
    panel = Panel()
    for record in samples.training_records():
        panel.receive(record)
    panel.finish()
    return panel


def test_the_front_end_is_small():
    """Each panel carries the loader; script and style cross once per kernel (see library.py).

    The view of arrays crosses when the first one is opened; what opens it is 3 kB of the rest.
    """
    assert len(assets.loader_module().encode()) < 2_000
    assert len(assets.browser_module().encode()) + len(assets.style().encode()) < 354_000
    assert sum(len(text.encode()) for text in assets.array_module()) < 32_000


def test_in_marimo_a_panel_carries_all_code_and_plain_text(samples, monkeypatch):
    """It finds no other widget there, and the encoder of marimo knows str alone, not our paths."""
    monkeypatch.setitem(sys.modules, "marimo", SimpleNamespace(running_in_notebook=lambda: True))
    panel = Panel.of(samples.training_records())
    assert (panel._esm, panel._css) == (assets.browser_module(), assets.style())
    (program,) = panel.programs.values()
    assert {type(path) for kernel in program["kernels"] for path in kernel["eqns"]} == {str}
    monkeypatch.setitem(sys.modules, "marimo", SimpleNamespace(running_in_notebook=lambda: False))
    assert Panel.of([])._esm != assets.browser_module()


def test_state_is_json(panel):
    state = json.loads(json.dumps({"programs": panel.programs, "live": panel.live}))
    assert state["live"]["finished"] is True
    assert state["live"]["programs"][0]["kernels"] == 16
    assert "HloModule" not in json.dumps(state)


def test_a_display_has_widget_picture_and_text(panel):
    data, _ = panel.bundle()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == panel.model_id
    assert "traced update: 51 equations" in data["text/plain"]
    assert "dot.7" in data["text/plain"]
    assert panel._repr_mimebundle_()[0].keys() == data.keys()


def test_the_fallback_holds_nothing_that_a_sanitizer_removes(panel):
    found = Tags(panel.bundle()[0]["text/html"])
    assert found.tags == ALLOWED
    assert found.attributes == {"alt", "src"}


def test_the_fallback_picture_opens(panel):
    source = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', panel.bundle()[0]["text/html"])
    root = ElementTree.fromstring(base64.b64decode(source[1]))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_a_graph_adds_less_than_200_kb(panel):
    assert len(json.dumps(panel.bundle()[0])) < 200_000


def test_a_panel_of_complete_records(samples):
    panel = Panel.of(samples.training_records())
    assert panel.opened and panel.live["finished"]
    assert panel.live["programs"][0]["executed"]["calls"] == 3214


@pytest.mark.parametrize("step", [1e-3, 0.0, 7.0])  # shorter than the profiler's time, unknown, longer
def test_a_profile_that_is_sent_once_gives_what_complete_numbers_give(samples, script, step):
    traced, *others, run = samples.training_records()
    panel, sent = Panel(), []
    panel.observe(lambda change: sent.append(change["new"]), "profiles")
    panel._scheduler.flush()
    for calls in (10, 20, 30):
        for record in (traced, *others, dataclasses.replace(run, calls=calls, step=step, clock="host")):
            panel.receive(record)
        panel._scheduler.flush()
        program = next(iter(panel._scheduler.store.programs.values()))
        number = str(program.number)
        (light,) = panel.live["programs"]
        assert not light["executed"]["devices"] and "account" not in light["executed"]
        added = script("addProfile(a, b)", light["executed"], panel.profiles[number])
        expected = json.loads(json.dumps(wire.encode_light(program)["executed"]))
        for key in ("profile", "scale", "busy"):
            del added[key]
        assert_close(added, expected)
    assert len(sent) == 1
    panel.receive(dataclasses.replace(run, devices=tuple(map(dataclasses.replace, run.devices))))
    panel.finish()
    assert len(sent) == 2 and sent[0][number]["id"] != sent[1][number]["id"]
    lost = panel.live["programs"][0]["executed"]
    assert script("addProfile(a, b)", lost, sent[0][number]) == script("a", lost)


def assert_close(found, expected):
    """Compare JSON whose numbers may differ by rounding."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert_close(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            assert_close(*pair)
    else:
        error = {float: 2e-10, int: 1.0}.get(type(expected))  # seconds are rounded, rates are whole numbers
        assert found == (expected if error is None else pytest.approx(expected, rel=1e-6, abs=error))


def test_a_large_graph_is_folded_in_the_saved_picture(samples):
    variables = {f"v{i}": Variable(f"v{i}", (), "float32", False) for i in range(501)}
    equations = tuple(Equation(str(i), "sin", "", (f"v{i}",), (f"v{i + 1}",)) for i in range(500))
    jaxpr = Jaxpr("f", (), ("v0",), ("v500",), variables, equations)
    data, _ = Panel.of([samples.traced(jaxpr=jaxpr), samples.compiled(), samples.executed()]).bundle()
    assert len(json.dumps(data)) < 200_000
    picture = base64.b64decode(re.search(r'base64,([^"]+)"', data["text/html"])[1]).decode()
    assert "too many" not in picture and "sin × 500" in picture and " for 500 equations" in picture


def test_an_empty_panel_shows_that_nothing_happened():
    panel = Panel()
    panel.finish()
    data, _ = panel.bundle()
    assert "nothing was traced" in data["text/plain"]
    assert "<img" not in data["text/html"]


def test_a_failure_is_shown_with_what_was_recorded_before(samples):
    panel = Panel()
    panel.receive(samples.traced())
    panel.receive(Failure(1, "update", "compile", 1.0, "XlaRuntimeError", "out of <memory>"))
    panel.receive(Failure(None, "g", "trace", 1.0, "TypeError", "no"))
    panel.finish()
    data, _ = panel.bundle()
    assert "XlaRuntimeError: out of <memory>" in data["text/plain"]
    assert "out of &lt;memory&gt;" in data["text/html"]
    assert panel.live["programs"][0]["failure"]["error"] == "XlaRuntimeError"
    assert panel.live["failures"][0]["function"] == "g"


def test_importing_it_boots_nothing(fresh_python):
    program = "import sys, xlascope_widgets; print({m.split('.')[0] for m in sys.modules} & {'jaxlib', 'jax', 'numpy'})"
    assert fresh_python(program).strip() == "set()"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1 kB"), (600_000, "600 kB"), (5_240_000, "5.24 MB"), (3 * 10**9, "3 GB")],
)
def test_a_size_has_its_unit(value, text):
    assert format_bytes(value) == text
