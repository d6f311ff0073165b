"""Pictures and texts that need no browser."""

import dataclasses
import itertools
import re
from xml.etree import ElementTree

import pytest
from tests.widgets import programs

from xlascope import records
from xlascope_widgets import picture, text, wire
from xlascope_widgets.picture import draw
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.text import store_text

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>\"'&]]>\x00\ud800</text>"


def nodes(svg: str) -> list[str]:
    return [g.get("data-path") for g in ElementTree.fromstring(svg).iter(f"{SVG}g") if g.get("data-kind") == "equation"]


def test_a_picture_has_every_equation(samples):
    assert sorted(nodes(picture(samples.training_records()))) == sorted(
        e.path for e in samples.training_jaxpr().equations
    )


def test_opened_bodies_are_drawn(samples):
    drawn = nodes(picture(samples.training_records(), open={"9", "10", "19"}))
    assert sorted(drawn) == sorted(e.path for e in samples.training_jaxpr().walk())


def test_a_picture_refers_to_nothing_outside(samples):
    svg = picture(samples.training_records(), open={"9"})
    assert svg.replace('xmlns="http://www.w3.org/2000/svg"', "").count("http") == 0
    assert "var(" not in svg and "url(" not in svg and "@import" not in svg


@pytest.mark.parametrize("opened", [set(), {"9", "10", "19"}])
def test_a_picture_has_no_sign_to_click(samples, opened):
    svg = picture(samples.training_records(), open=opened)
    assert "⊞" not in svg and "⊟" not in svg and 'class="xs-toggle' not in svg


def test_kernels_of_a_picture_say_shape_and_line(samples):
    words = [text.text for text in ElementTree.fromstring(picture(samples.training_records())).iter(f"{SVG}text")]
    heading, facts = next((word, words[i + 1 :]) for i, word in enumerate(words) if word and " f32[" in word)
    assert re.fullmatch(r"[\w+ ]+ f32\[[\d,]*\]( \+\d)?", heading)
    assert any(re.match(r"lines? \d+.* · ", word) for word in facts[:2] if word)


def test_bars_are_hatched_by_phase(samples):
    """Colour is not the only sign of a phase, in lists and in the timeline."""
    groups = ElementTree.fromstring(picture(samples.training_records())).iter(f"{SVG}g")
    hatched: dict[str, set[str]] = {}
    for group in groups:
        children = list(group)
        for at, bar in enumerate(children):
            kind = re.fullmatch(r"xs-bar pass-(\w+)( several)?", bar.get("class", ""))
            if kind is None or float(bar.get("width")) < 6:
                continue
            rest = itertools.takewhile(lambda each: "xs-bar " not in each.get("class", ""), children[at + 1 :])
            d = "".join(each.get("d", "") for each in rest if each.get("class") == "xs-hatch")
            hatched.setdefault(kind[1], set()).add("".join(sorted(set(re.findall(r"[Lhv]", d)))))
    assert hatched["forward"] == {""} and hatched["backward"] == {"L"}
    assert hatched.get("update", {"h"}) <= {"h", "v"}


def test_results_are_bundled_and_named_as_inputs_are(samples):
    """Results of one box are one node, which says which of the results they are."""
    words = [text.text for text in ElementTree.fromstring(picture(programs.digits())).iter(f"{SVG}text")]
    assert {"params · 6", "mean · 6", "out 0–5", "out 6–11", "out 12–17", "out 18"} <= set(words)


def test_a_picture_needs_only_a_trace(samples):
    assert len(nodes(picture([samples.traced()]))) == 34


@pytest.mark.parametrize("records", ["training", "traced"])
def test_hostile_text_is_only_text(samples, records):
    jaxpr = samples.training_jaxpr()
    first = dataclasses.replace(jaxpr.equations[0], operation=HOSTILE, parameters=HOSTILE)
    variables = {n: dataclasses.replace(v, label=HOSTILE, dtype=HOSTILE) for n, v in jaxpr.variables.items()}
    hostile = dataclasses.replace(jaxpr, equations=(first, *jaxpr.equations[1:]), variables=variables)
    given = samples.training_records() if records == "training" else []
    kernel = dataclasses.replace(samples.kernels()[0], name=HOSTILE, kind=HOSTILE)
    compiled = dataclasses.replace(samples.compiled(), kernels=(kernel,))
    svg = picture([*given, samples.traced(jaxpr=hostile, function=HOSTILE), compiled])
    root = ElementTree.fromstring(svg)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "style", "rect", "g", "text", "tspan", "path", "circle", "line"}
    assert not any(name.startswith("on") or name == "href" for element in root.iter() for name in element.attrib)


def test_no_records_make_an_empty_picture():
    assert ElementTree.fromstring(picture([])).tag == f"{SVG}svg"


def test_an_unknown_program_is_an_error(samples):
    with pytest.raises(ValueError, match=r"no program 5 .*\[1\]"):
        picture(samples.training_records(), program=5)


def test_what_is_too_much_is_said_rather_than_drawn(samples):
    svg = draw(ProgramStore.of(samples.training_records()).main, most=5)
    assert "51 equations: too many for a picture" in svg and not nodes(svg)


def test_text_tells_stages_jaxpr_and_kernels(samples):
    told = text(samples.training_records())
    stages = told.splitlines()[0].split("; ")
    assert stages[0] == "traced update: 51 equations in 1.4 ms"
    assert stages[1] == "compiled in 310 ms to 16 kernels for cpu"
    assert stages[2] == "ran 3,214 times, 1.82 ms each (measured)"
    assert "{ lambda" in told and "{ lambda" not in text(samples.training_records(), jaxpr=False)
    row = next(line for line in told.splitlines() if line.startswith("broadcast_add_tanh_fusion.3"))
    assert "loop" in row and "(measured)" in row and "524 kB" in row and "broadcast_in_dim add tanh" in row
    assert "no source information" in told


def test_text_names_the_programs_that_it_leaves_out(samples):
    small = [samples.traced(n, function=f"init{n}") for n in range(2, 10)]
    store = ProgramStore.of([*samples.training_records(), *small])
    assert store_text(store, most=8).endswith("\nand 1 other program: init9")
    assert store_text(store, most=1).endswith("\nand 8 other programs: init2, init3, init4, init5, init6, init7, …")


def test_a_version_compiled_quickly_and_the_optimized_one_are_told_apart(samples, script):
    known = samples.training_records()
    (optimized,) = (each for each in known if isinstance(each, records.Compiled))
    quick = dataclasses.replace(optimized, quick=True, module="quick", seconds=0.04)
    before = [quick if each is optimized else each for each in known if not isinstance(each, records.Executed)]
    told = [text(before).splitlines()[0], text([*before, optimized]).splitlines()[0]]
    assert "compiled quickly in 40 ms to 16 kernels for cpu" in told[0]
    assert "compiled in 310 ms (quickly in 40 ms before) to 16 kernels for cpu" in told[1]
    words = [
        script(
            "listStages({light: a, function: a.function}).map(formatStage)",
            wire.encode_light(ProgramStore.of(each).main),
        )[-1]
        for each in (before, [*before, optimized])
    ]
    assert words == [
        "compiled quickly 40.0 ms → 16 kernels",
        "compiled 310 ms, quickly in 40.0 ms before → 16 kernels",
    ]


def test_a_duration_has_its_unit(script):
    told = script("a.map(formatTime)", [0, 3e-9, 1.23456e-6, 1.82e-3, 0.31, 1.2, 125.3])
    assert told == ["0 s", "3.00 ns", "1.23 µs", "1.82 ms", "310 ms", "1.20 s", "125 s"]


def test_a_picture_is_no_larger_than_can_be_read_on_a_page():
    """Of 161 equations, which would be 2,600 units wide one by one, it shows the overview."""
    svg = ElementTree.fromstring(picture(programs.digits()))
    assert float(svg.attrib["width"]) <= 1500 and float(svg.attrib["height"]) <= 1500
    assert "logsumexp" in "".join(svg.itertext())
