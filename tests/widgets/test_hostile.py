"""Untrusted texts in every place of every record: no view breaks on them, acts on them, or grows with them."""

import dataclasses
import functools
import json
import re
import time
import types
import typing
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from xlascope import records
from xlascope.analysis.diff import compare, compare_timings
from xlascope.records import Ceilings, Failure, Missed, SourceRange, SourceText, Variable
from xlascope_widgets import Panel, picture, text
from xlascope_widgets.export import save
from xlascope_widgets.export.charts import chart, texts_of
from xlascope_widgets.export.dot import dot_source
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.static_state import make_static_state

HOSTILE = {
    "script": "</script><script>window.hacked=1</script>",
    "element": "<img src=x onerror='window.hacked=1'><b>bold",
    "attribute": "\" onload=\"window.hacked=1\" x='y'",
    "comment": "<!--<script>--><style>*{display:none}</style></style></title></noscript></pre>",
    "entity": "&lt;b&gt; &amp; &#60; ]]> <![CDATA[ <?xml ?>",
    "template": "${window.hacked=1} {0} {state} %s %(x)s {{x}}",
    "formula": r"$\frac{1}{$ \LaTeX $$ _{^",
    "quote": "a\\\"; } node [label=\"\\N\"] \\",
    "control": "bell\x07 \x1b[31mred\x1b[0m \x1b]0;title\x07 nul\x00 back\b\b del\x7f c1\x9b31m",
    "lines": "one\r\ntwo\nthree\ttab\u2028four\u2029five\x85six",
    "surrogate": "half \ud800 and \udfff",
    "direction": "abc\u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "key": "__proto__",
    "wide": "日本語 👩‍👩‍👧 e\u0301" + "\u0301" * 50,
    "empty": "",
    "long": "<x>" + "a" * 100_000,
}  # fmt: skip

#: What would act in a terminal, break a line, or turn writing around.
ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

#: Text that names something else of the same program, or that the engine itself made from a list of few words.
KEPT = {
    *("path", "inputs", "outputs", "constants", "transposes", "equations", "variables"),
    *("maker", "file", "name", "kernel", "target"),
}
#: Of those, the ones that a test sets on purpose, the same everywhere.
NAMES = {"name", "kernel", "file", "maker"}


def poisoned(value, poison, field=""):
    """A record in which every free text begins with the poison; names stay consistent."""
    if dataclasses.is_dataclass(value):
        hints = hints_of(type(value))
        return dataclasses.replace(
            value,
            **{
                each.name: poisoned(getattr(value, each.name), poison, each.name)
                for each in dataclasses.fields(value)
                if not isinstance(getattr(value, each.name), str) or is_free(hints[each.name])
            },
        )
    if isinstance(value, tuple):
        return tuple(poisoned(each, poison, field) for each in value)
    if isinstance(value, dict):
        return {key: poisoned(each, poison, "") for key, each in value.items()}
    if isinstance(value, str) and (field not in KEPT or field in NAMES):
        return f"{poison}{value if field == 'text' else value[:40]}"
    return value


@functools.cache
def hints_of(kind):
    """The types of a record's fields."""
    return typing.get_type_hints(kind)


def is_free(hint):
    """Whether a field may hold any text (rather than one of few words)."""
    arguments = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return str in arguments


@pytest.fixture(scope="module")
def sound(samples):
    """Everything that can be recorded of one program."""
    where = SourceRange("model.py", 3, 0, 3, 9, "loss")
    return [
        *samples.training_records(),
        Missed(1, "update", 0.0, "a reason", "a fix", where),
        Ceilings(1, "update", 0.0, "cpu:0", 1e11, 1e10, "measured here"),
        Failure(1, "update", "compile", 1.0, "XlaRuntimeError", "out of memory", where),
        Failure(None, "In[3]", "run", 1.0, "ValueError", "no", where),
    ]


@pytest.fixture(scope="module", params=HOSTILE)
def found(request, sound):
    """The same, poisoned."""
    return [poisoned(each, HOSTILE[request.param]) for each in sound]


def strings(value):
    """Every text in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from strings(each)


class Page(HTMLParser):
    """The elements of a page, their attributes, and what stands in scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.data = [], set(), {}
        self.inside = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.inside = tag + (dict(attrs).get("type") or "")

    def handle_data(self, data):
        self.data[self.inside] = self.data.get(self.inside, "") + data


def test_poison_gets_everywhere(sound):
    marked = json.dumps([records.to_json(poisoned(each, "MARK")) for each in sound])
    assert marked.count("MARK") > 400
    for field in ("function", "operation", "parameters", "label", "text", "title", "message", "reason", "scope", "hlo"):
        assert f'"{field}": "MARK' in marked, field


def test_text(found):
    told = text(found)
    assert not ACTING.search(told)
    assert "\n" in told and len(told) < 100_000


def test_json_keeps_it_as_it_is(found, tmp_path):
    records.save(found, tmp_path / "a.json")
    assert list(records.load(tmp_path / "a.json")) == found


def test_what_crosses_to_a_browser_is_json_of_bounded_size(found):
    state = make_static_state(ProgramStore.of(found))
    crossing = json.dumps(state)
    assert json.dumps(json.loads(crossing)) == crossing
    assert len(crossing) < 1_000_000
    assert not [told for told in strings(json.loads(crossing)) if ACTING.search(told)]


def test_svg(found):
    svg = picture(found, open=["9"])
    root = ElementTree.fromstring(svg.encode())
    tags = {each.tag.rpartition("}")[2] for each in root.iter()}
    assert tags <= {"svg", "title", "style", "rect", "g", "text", "tspan", "path", "circle", "line"}
    assert not any(name.startswith("on") or "href" in name for each in root.iter() for name in each.attrib)
    assert len(svg) < 500_000


@pytest.mark.parametrize("poison", ["control", "wide"])
def test_png(sound, poison, tmp_path):
    save([poisoned(each, HOSTILE[poison]) for each in sound], tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


#: A line of DOT: identifiers are plain words or quoted, and nothing stands outside of them.
NAME = r'(?:"(?:[^"\\]|\\.)*"|[A-Za-z_0-9.]+)'
GIVEN = rf"{NAME}={NAME}(?: {NAME}={NAME})*"
DOT_LINE = re.compile(
    rf"\s*(?:(?:digraph|subgraph) {NAME} \{{|\}}|{NAME}(?: -> {NAME})?(?: \[{GIVEN}\])?|{GIVEN})", re.DOTALL
)


def test_dot(found):
    drawn = dot_source(ProgramStore.of(found))
    assert not ACTING.search(drawn) and len(drawn) < 500_000
    for line in drawn.splitlines():
        assert DOT_LINE.fullmatch(line), line
    assert "=<" not in drawn  # labels of HTML begin so


def test_page(found, tmp_path):
    save(found, tmp_path / "a.html")
    content = (tmp_path / "a.html").read_text()
    page = Page(content)
    assert page.tags.count("script") == 2 and page.tags.count("style") == 1 and page.tags.count("title") == 1
    assert set(page.tags) <= {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "div",
        "noscript",
        "img",
        "pre",
        "script",
    }
    assert not any(name.startswith("on") for name in page.attributes)
    assert json.loads(page.data["scriptapplication/json"])["live"]["finished"] is True
    assert len(content) < 2_000_000


def test_what_a_notebook_keeps(found):
    data, _ = Panel.of(found).bundle()
    assert len(json.dumps(data)) < 200_000
    page = Page(data["text/html"])
    assert set(page.tags) <= {"xlascope-panel", "div", "p", "img", "details", "summary", "pre"}
    assert not any(name.startswith("on") for name in page.attributes)
    assert not ACTING.search(data["text/plain"])


@pytest.mark.filterwarnings("ignore:Glyph", "ignore:constrained_layout")
def test_charts(found):
    for kind in ("timeline", "lines", "roofline"):
        figure = chart(found, kind)
        figure.draw_without_rendering()
        assert all(len(told) < 450 for told in texts_of(figure))


def test_comparison(found, sound, tmp_path):
    poison = found[1].function[:-1]
    diff = compare(sound, found, labels=("sound", poison), timing=compare_timings([1.0] * 9, [2.0] * 9, "host clock"))
    assert not ACTING.search(diff.text()) and len(diff.text()) < 100_000
    assert json.loads(json.dumps(diff.to_json()))["labels"][0] == "sound"
    for suffix in (".svg", ".dot", ".html"):
        save(diff, tmp_path / f"a{suffix}")
        assert (tmp_path / f"a{suffix}").stat().st_size < 3_000_000
    ElementTree.fromstring((tmp_path / "a.svg").read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Traced", "Compiled", "Executed", "Failure"])
def test_ten_megabytes_in_any_field_cost_little(sound, kind):
    """One field after the other: the whole of them would not fit into memory."""
    huge = "<x>" + "a" * 10_000_000
    chosen = next(each for each in sound if type(each).__name__ == kind)
    for field in dataclasses.fields(chosen):
        value = getattr(chosen, field.name)
        if isinstance(value, str):
            large = huge
        elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
            large = (poisoned(value[0], huge), *value[1:])
        elif dataclasses.is_dataclass(value) and field.name != "jaxpr":
            large = poisoned(value, huge)
        else:
            continue
        found = [dataclasses.replace(each, **{field.name: large}) if each is chosen else each for each in sound]
        ledger = ProgramStore.of(found)
        began = time.perf_counter()
        sizes = [
            len(text(found)),
            len(picture(found)),
            len(json.dumps(make_static_state(ledger))),
            len(dot_source(ledger)),
        ]
        assert time.perf_counter() - began < 30, field.name  # what is quadratic in 10 MB takes hours
        assert max(sizes) < 1_500_000, (field.name, sizes)


def test_a_type_of_another_length_is_only_words():
    v = Variable("a", (10**9,) * 40, "float" + "9" * 400, False)
    assert v.type_text
    assert SourceText("f", "t", 10**12, "x")
