"""The terms of the panel are explained on hovering, from one table."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import quickjs

from xlascope_widgets import assets
from xlascope_widgets.linker import link
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.static_state import make_static_state

Script = Callable[..., Any]
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in assets.STATIC.rglob("*.js")}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("262 kFLOP (roofline estimate)", ["roofline estimate"]),
        ("side by side (bytes: roofline estimates)", ["roofline estimates"]),
        ("2 µs a call (measured), 3 µs (XLA's estimate)", ["measured", "XLA's estimate"]),
        ("kernel boundary: f32[8], 32 B", ["kernel boundary"]),
        ("3 with no source information", ["no source information"]),
        ("not measured <b>", []),
        ("", []),
    ],
)
def test_terms_in_a_text_have_titles(script: Script, text: str, terms: list[str]) -> None:
    parts = [part for part in script("explainTerms(a)", text) if part]
    assert "".join(part if isinstance(part, str) else part["children"][0] for part in parts) == text
    explained = [part for part in parts if not isinstance(part, str)]
    assert [part["children"][0] for part in explained] == terms
    assert all(len(part["attributes"]["title"]) > 20 for part in explained)


def test_the_table_has_every_term_that_is_looked_up(script: Script) -> None:
    terms = set(script("Object.keys(TERMS)"))
    named = {
        "".join(term) for source in SOURCES.values() for term in re.findall(r'TERMS(?:\.(\w+)|\["([\w +]+)"\])', source)
    }
    assert {"phase", "time attributable"} <= named <= terms


def test_the_old_words_are_gone() -> None:
    old = re.compile(r"our count|no source known|at stake|making (?:it|them)\b")
    assert not [name for name, source in SOURCES.items() if old.search(source)]


@pytest.fixture(scope="module")
def front_end(samples: Any) -> Callable[[str], str]:
    """`front_end(expression)`: what it draws of a training step and sixteen smaller programs."""
    files = sorted(path.relative_to(assets.STATIC).as_posix() for path in assets.STATIC.rglob("*_pane.js"))
    small = [samples.traced(n, function=f"init{n}") for n in range(2, 18)]
    state = make_static_state(ProgramStore.of([*samples.training_records(), *small]))
    context = quickjs.Context()
    context.eval(f"Object.assign(globalThis, {link(assets.STATIC, *files, *DRAWING)}, {{store: 0}})")
    context.eval(f"store = new Store(); store.takeLive({json.dumps(state['live'])})")
    context.eval(f"store.takePrograms({json.dumps(state['programs'])})")
    return lambda expression: str(context.eval(f"[toMarkup(el('div', {{}}, {expression}))].join('')"))


DRAWING = (
    "store/store.js",
    "ground/element.js",
    "parts/panes.js",
    *(f"frame/{part}.js" for part in ("strip", "side_tabs", "legend", "toolbar", "detail")),
)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("drawToolbar(store)", r'title="forward: the function[^"]*">phase<'),
        ("drawLegend(store)", r'title="the phase that computes the gradient[^"]*"><i class="xs-chip pass-backward"'),
        ("(store.heat = 'bytes', drawLegend(store))", r'title="operations and bytes counted[^"]*">roofline estimate<'),
        ("(store.select('equation', '0'), drawDetail(store))", r'class="xs-fact">[^<]*<span class="xs-term" title='),
        ("(store.list.tab = 'crossing', drawSide(store))", r'title="kernel boundaries: [^"]*">boundaries<'),
        ("(store.list.tab = 'kernels', drawSide(store))", r'class="xs-term" title="[^"]*">roofline estimate<'),
        ("listPanes('below').find((pane) => pane.id === 'hottest').draw(store)", r">roofline estimates<"),
        (
            "drawStrip(store, true)",
            r'title="The largest first: init2, init3, [^"]*, and 4 more\. [^"]*">and 16 other prog',
        ),
    ],
)
def test_what_is_drawn_explains_its_terms(front_end: Callable[[str], str], expression: str, told: str) -> None:
    assert re.search(told, front_end(expression))
