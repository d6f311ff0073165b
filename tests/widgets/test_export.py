"""Inspections as files: each suffix holds what its readers need, and refers to nothing outside of itself."""

import json
import re
import shutil
import struct
import zlib
from base64 import b64decode, b64encode
from hashlib import sha256
from xml.etree import ElementTree

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect
from xlascope.analysis.diff import compare, compare_timings
from xlascope.records import Equation, Jaxpr, Traced, Variable
from xlascope_widgets import Panel, picture
from xlascope_widgets.export import SUFFIXES, save
from xlascope_widgets.export.charts import CHARTS, chart, texts_of
from xlascope_widgets.export.dot import NO_GRAPHVIZ, dot_source
from xlascope_widgets.png import MAX_PIXELS, choose_scale, render_png
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.static_state import limit_state, make_static_state


@pytest.fixture(scope="module")
def records(samples):
    return samples.training_records()


@pytest.fixture(scope="module")
def diff(samples):
    """The training step against one with a smaller batch and without its last two equations."""
    before = samples.training_records()
    (traced,) = (each for each in before if isinstance(each, Traced))
    return compare(before, [samples.traced(jaxpr=smaller(traced.jaxpr))], labels=("step(x)", "step(x[:64])"))


def smaller(jaxpr):
    variables = {
        name: Variable(name, tuple(64 if size == 128 else size for size in each.shape), each.dtype, False, each.label)
        for name, each in jaxpr.variables.items()
    }
    return Jaxpr(jaxpr.name, jaxpr.constants, jaxpr.inputs, jaxpr.outputs[:-1], variables, jaxpr.equations[:-2])


def chain(length):
    """A program of so many equations, one after another."""
    variables = {f"v{i}": Variable(f"v{i}", (3,), "float32", False) for i in range(length + 1)}
    equations = tuple(
        Equation(str(i), ("sin", "mul", "exp", "add")[i * 7 % 5 % 4], "", (f"v{i}",), (f"v{i + 1}",))
        for i in range(length)
    )
    return Jaxpr("f", (), ("v0",), (f"v{length}",), variables, equations)


@pytest.mark.parametrize("suffix", [each for each in SUFFIXES if each != ".pdf"])
def test_every_form_is_written_for_records_and_comparisons(records, diff, tmp_path, suffix):
    for name, shown in (("records", records), ("diff", diff), ("nothing", [])):
        save(shown, tmp_path / f"{name}{suffix.upper()}")
        assert (tmp_path / f"{name}{suffix.upper()}").stat().st_size > 0
    assert not list(tmp_path.glob(".*"))


def test_another_suffix_is_an_error_that_lists_them(records, tmp_path):
    with pytest.raises(ValueError, match=r"one of \.html, \.svg, \.png, \.dot, \.pdf"):
        save(records, tmp_path / "a.jpg")


def test_a_file_is_written_whole_or_not_at_all(records, tmp_path):
    (tmp_path / "a.svg").write_text("before")
    with pytest.raises(OSError):
        save(records, tmp_path / "no" / "a.svg")
    save(records, tmp_path / "a.svg")
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")


# The page ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(records, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "a.html"
    save(records, file)
    return file.read_text()


def test_a_page_loads_nothing(page):
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!data:)""", page.partition("<script")[0])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_a_page_names_its_script_by_its_hash(page):
    (script,) = re.findall(r'<script type="module">(.*)</script>', page, re.DOTALL)
    assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in page


def test_a_page_holds_picture_and_text_for_browsers_without_scripts(page):
    (fallback,) = re.findall(r"<noscript>(.*?)</noscript>", page, re.DOTALL)
    svg = b64decode(re.search(r"base64,([^\"]*)", fallback)[1])
    assert ElementTree.fromstring(svg).tag.endswith("svg") and "traced update: 51 equations" in fallback


# Pixels --------------------------------------------------------------------------------------------------------------


def pixels(data):
    """Width, height, and the rows of an RGBA image that has 8 bits per channel."""
    width, height = struct.unpack(">II", data[16:24])
    body, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            body += data[at + 8 : at + 8 + length]
        at += 12 + length
    return width, height, zlib.decompress(body)


def test_a_png_is_twice_as_large_as_its_picture():
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><rect width="30" height="20"/></svg>'
    assert pixels(render_png(svg))[:2] == (60, 40)


def test_a_png_has_letters_without_any_font_of_the_system():
    shape = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="20">{}</svg>'
    text = '<text x="2" y="15" font-family="ui-monospace, Menlo, \'DejaVu Sans Mono\', monospace">tanh</text>'
    with_letters, without = (pixels(render_png(shape.format(each), system_fonts=False))[2] for each in (text, ""))
    assert len(set(with_letters)) > 10 > len(set(without))


def test_a_large_picture_has_fewer_pixels_a_unit():
    assert choose_scale('<svg width="20000" height="30000">') ** 2 * 20000 * 30000 == pytest.approx(MAX_PIXELS)


# Graphviz ------------------------------------------------------------------------------------------------------------


def test_dot_has_every_equation_a_cluster_for_each_body_and_a_colour_for_each_kernel(records):
    ledger = ProgramStore.of(records)
    drawn = dot_source(ledger)
    nodes = re.findall(r'^\s*"?([\d/.]+)"? \[label', drawn, re.MULTILINE)
    calls = {each.path for each in ledger.main.traced.jaxpr.walk() if each.bodies}
    assert sorted(nodes) == sorted(each.path for each in ledger.main.traced.jaxpr.walk() if each.path not in calls)
    assert len(re.findall(r"subgraph ", drawn)) == len(calls) == 3
    colours = {re.search(rf'^\s*{path} \[.*fillcolor="(.*?)"', drawn, re.MULTILINE)[1] for path in ("2", "3")}
    assert len(colours) == 1 and colours != {"#ffffff"}  # one kernel has both


def test_dot_draws_a_value_from_its_maker_to_its_user_through_calls(records):
    drawn = dot_source(ProgramStore.of(records))
    assert re.search(r'^\s*8 -> "9/0"$', drawn, re.MULTILINE)  # an operand of a call is the body's own input
    assert not re.search(r"-> 9$", drawn, re.MULTILINE)


def test_dot_of_a_comparison_has_both_programs(diff):
    drawn = dot_source(ProgramStore.of(diff))
    assert drawn.count("subgraph cluster_before") == drawn.count("subgraph cluster_after") == 1
    assert "removed" in drawn and "changed" in drawn


def test_a_pdf_needs_the_program_dot(records, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="`dot`") as told:
        save(records, tmp_path / "a.pdf")
    assert str(told.value) == NO_GRAPHVIZ and "\n" not in NO_GRAPHVIZ


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_it(records, diff, tmp_path):
    for shown in (records, diff):
        save(shown, tmp_path / "a.pdf")
        assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


# Charts --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("timeline", ("One step of update on each device", "cpu:0", "cpu:1", "measured by the profiler", "forward")),
        ("lines", ("Time per call of update by source line", "h = tanh(h)", "measured by the profiler")),
        ("roofline", ("Kernels of update", "operations per byte", "roofline estimate")),
    ],
)
def test_charts_say_what_they_show_and_whose_numbers_those_are(records, kind, said):
    figure = chart(records, kind)
    figure.draw_without_rendering()
    told = "\n".join(texts_of(figure))
    for words in said:
        assert words in told


def test_a_chart_that_cannot_be_says_why(records):
    with pytest.raises(ValueError, match="no chart 'pie'; there are timeline, lines, roofline, memory"):
        chart(records, "pie")
    with pytest.raises(ValueError, match=r"nothing was measured \(ask inspect.timings\)"):
        chart([each for each in records if type(each).__name__ == "Traced"], "lines")
    with pytest.raises(ValueError, match="no plan of memory"):
        chart(records, "memory")
    assert set(CHARTS) == {"timeline", "lines", "roofline", "memory"}


def test_the_lines_of_a_chart_add_up_to_what_was_measured(records, samples):
    axes = chart(records, "lines").axes[0]
    widths = sum(bar.get_width() for bar in axes.patches)
    run, compiled = samples.executed(), samples.compiled()
    known = {kernel.name for kernel in compiled.kernels if kernel.equations}
    told = sum(k.seconds for d in run.devices for k in d.kernels if k.kernel in known) / run.observed_calls
    assert 0 < widths <= told / len(run.devices) * 1.001


# What a notebook keeps -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [300, 2000, 20_000])
def test_a_long_program_is_folded_until_it_fits_and_is_never_left_out(length):
    data, _ = Panel.of([Traced(1, "f", 0.0, 0.1, chain(length), "", "first call")]).bundle()
    assert len(json.dumps(data)) < 200_000
    svg = b64decode(re.search(r'base64,([^"]+)"', data["text/html"])[1]).decode()
    assert re.findall(r'class="xs-node[ "]', svg) and f"{length:,} equations" in svg


@pytest.mark.slow
def test_the_gradient_of_twelve_transformer_blocks_fits_into_a_notebook(tmp_path):
    width, tokens = 32, 16

    def block(weights, x):
        query, key, value, out, up, down = weights
        h = (x - jnp.mean(x, axis=-1, keepdims=True)) / jnp.sqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-5)
        x = x + xs.nn.softmax((h @ query) @ (h @ key).T / width**0.5) @ (h @ value) @ out
        return x + jnp.tanh(x @ up) @ down

    def loss(blocks, x):
        for weights in blocks:
            x = block(weights, x)
        return jnp.mean(x * x)

    shapes = [(width, width)] * 4 + [(width, 4 * width), (4 * width, width)]
    blocks = [[np.full(shape, 0.01, np.float32) for shape in shapes] for _ in range(12)]
    found = inspect.timings(xs.jit(xs.grad(loss)), blocks, np.ones((tokens, width), np.float32))
    data, _ = Panel.of(found.records).bundle()
    assert len(json.dumps(data)) < 200_000 and "too many" not in data["text/html"]
    for suffix in (".html", ".svg", ".png", ".dot"):
        found.save(tmp_path / f"a{suffix}")
        assert 10_000 < (tmp_path / f"a{suffix}").stat().st_size < 5_000_000
    for kind in CHARTS:
        found.chart(kind).draw_without_rendering()


def test_what_a_comparison_leaves_in_a_notebook(diff):
    data, _ = Panel.of(diff).bundle()
    assert len(json.dumps(data)) < 200_000
    svg = b64decode(re.search(r'base64,([^"]+)"', data["text/html"])[1]).decode()
    assert "step(x[:64])" in svg and "removed" in svg


def test_the_picture_of_a_comparison_says_signs_words_and_numbers(samples, diff):
    measured = compare_timings([1e-3] * 9, [2e-3] * 9, "host clock")
    whole = compare(diff.before, diff.after, labels=diff.labels, timing=measured)
    svg = picture(whole)
    for said in (
        "step(x)",
        "−",
        "removed",
        "f32[128,512] → f32[64,512]",
        "takes 2 times as long",
        "roofline estimate",
        "alike",
    ):
        assert said in svg
    assert ElementTree.fromstring(svg).tag.endswith("svg")


def test_a_page_of_many_large_programs_keeps_the_first_ones(samples):
    ledger = ProgramStore.of([samples.traced(program=number) for number in range(1, 8)])
    whole = make_static_state(ledger)
    numbers = [light["number"] for light in whole["live"]["programs"]]
    size = len(json.dumps(whole["programs"][str(numbers[0])]))
    assert limit_state(whole, 100 * size) is whole
    less = limit_state(whole, int(3.5 * size))
    assert [light["number"] for light in less["live"]["programs"]] == numbers[: len(less["programs"])]
    assert 1 < len(less["programs"]) < 4 and less["live"]["more"] == 7 - len(less["programs"])
    assert len(limit_state(whole, 1)["programs"]) == 1
