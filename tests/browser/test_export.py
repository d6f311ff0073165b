"""Saved pages in a real Chromium, from a disk and in a sandbox; comparisons; and hostile names in all of it."""

import dataclasses
import functools
import html
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.browser.conftest import group_by
from tests.browser.saved_page import Opened

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.analysis.diff import compare, compare_timings
from xlascope.records import Equation, Jaxpr, Variable
from xlascope_widgets.export import save

WIDGETS = Path(__file__).resolve().parents[1] / "widgets"


def module(name):
    """A module of the widgets' tests."""
    spec = importlib.util.spec_from_file_location(f"xlascope_{name}", WIDGETS / f"{name}.py")
    found = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def samples():
    return module("samples")


@pytest.fixture
def opened(windows, tmp_path):
    found = Opened(windows, tmp_path)
    yield found
    found.page.close()
    assert found.complaints == []
    assert [url for url in found.requests if not url.startswith(("file:", "data:"))] == []


def compared_steps(samples):
    """A training step against the same with half the batch, and without its last equation."""
    before = samples.training_records()
    jaxpr = samples.training_jaxpr()
    variables = {
        name: Variable(name, tuple(64 if size == 128 else size for size in v.shape), v.dtype, False, v.label)
        for name, v in jaxpr.variables.items()
    }
    after = Jaxpr(jaxpr.name, (), jaxpr.inputs, jaxpr.outputs[:-1], variables, jaxpr.equations[:-1])
    measured = compare_timings([1.0e-3, 1.1e-3] * 6, [0.6e-3, 0.5e-3] * 6, "host clock")
    labels = ("update(params, x, y)", "update(params, x[:64], y[:64])")
    return compare(before, [samples.traced(jaxpr=after)], labels=labels, timing=measured)


@pytest.fixture
def step(samples):
    return compared_steps(samples)


def test_a_page_opens_from_a_disk_and_is_as_alive_as_the_panel(opened, samples):
    opened.show(samples.training_records())
    group_by(opened.page, "none")
    assert opened.find(".xs-node[data-kind=equation]").count() == 34
    assert "traced update 51 eqns" in " ".join(opened.find(".xs-strip").inner_text().split())
    opened.find(".xs-search").fill("tanh")
    opened.find(".xs-search").press("Enter")
    assert "tanh" in opened.find(".xs-detail").inner_text()
    assert opened.find(".xs-line.selected").count() == 1
    opened.find(".xs-open").click()
    assert opened.find(".xs-panel").is_hidden()
    opened.screenshot("page_light")


def test_a_page_follows_the_systems_theme(windows, tmp_path, samples):
    opened = Opened(windows, tmp_path, color_scheme="dark")
    opened.show(samples.training_records())
    assert "dark" in opened.find(".xs-root").get_attribute("class").split()
    opened.screenshot("page_dark")
    opened.page.close()
    assert opened.complaints == []


def test_a_page_works_in_a_sandboxed_frame(opened, samples, tmp_path):
    save(samples.training_records(), tmp_path / "inner.html")
    inner = html.escape((tmp_path / "inner.html").read_text())
    (tmp_path / "outer.html").write_text(
        f'<!doctype html><meta charset="utf-8"><iframe sandbox="allow-scripts" width=1200 height=900 srcdoc="{inner}">'
    )
    opened.page.goto((tmp_path / "outer.html").as_uri())
    frame = opened.page.frame_locator("iframe")
    assert frame.locator(".xs-node[data-kind=equation]").first.is_visible()
    frame.locator(".xs-kernel").first.click()
    assert frame.locator(".xs-kernel.selected").count() == 1


def test_a_page_without_scripts_shows_picture_and_text(windows, tmp_path, samples):
    opened = Opened(windows, tmp_path, java_script_enabled=False)
    opened.show(samples.training_records())
    assert opened.find("noscript img").is_visible()
    assert "traced update: 51 equations" in opened.find("noscript pre").inner_text()
    opened.page.close()


def test_a_comparison_says_what_differs(opened, step):
    opened.show(step)
    rows = opened.find(".xs-compare-row[data-row]")
    assert opened.find(".sign-removed[data-row]").count() == 1
    assert opened.find(".sign-changed[data-row]").count() > 10 and rows.count() > 20
    removed = opened.find(".sign-removed[data-row]")
    assert removed.locator(".xs-compare-sign").inner_text() == "−" and "removed" in removed.inner_text()
    assert "f32[128,512] → f32[64,512]" in opened.find(".xs-compare-rows").inner_text()
    assert "times as long as" in opened.find(".xs-compare-timing").inner_text()
    assert opened.find(".xs-compare-dot").count() == 24
    numbers = opened.find(".xs-compare-numbers").inner_text()
    assert "roofline estimate" in numbers and "XLA's" in numbers
    opened.screenshot("compare_light")


def test_a_comparison_names_kernels_as_their_list_does(opened, samples):
    """By what they do, what they write and their lines; XLA's name is shown on hovering."""
    before = samples.training_records()
    compiled = samples.compiled()
    first = next(kernel for kernel in compiled.kernels if len(set(kernel.equations)) > 1)
    halves = [
        dataclasses.replace(first, name=f"wrapped_<b>half.{i}", equations=(path,))
        for i, path in enumerate(dict.fromkeys(first.equations))
    ]
    kernels = (*halves, *(kernel for kernel in compiled.kernels if kernel is not first))
    after = [samples.traced(), dataclasses.replace(compiled, kernels=kernels)]
    opened.show(compare(before, after))
    row = opened.find(".xs-compare-row:not([data-row])").filter(has_text="split").first
    shown = row.locator(".xs-compare-side").nth(0).locator("div"), row.locator(".xs-compare-side").nth(1).locator("div")
    assert [side.count() for side in shown] == [1, len(halves)]
    assert shown[0].get_attribute("title") == f"XLA's name: {first.name}"
    assert shown[1].first.get_attribute("title") == "XLA's name: wrapped_<b>half.0"
    assert "fusion" not in row.inner_text() and "half" not in row.inner_text()
    # As in the list of kernels of the second program.
    titles = [
        f"{kernel.locator('.xs-kernel-head b').inner_text()} {kernel.locator('.xs-kernel-origin').inner_text()}"
        for kernel in opened.find(".xs-kernel").filter(has=opened.page.locator("[title*=half]")).all()
    ]
    opened.screenshot("compared_kernels")
    assert sorted(titles) == sorted(shown[1].all_inner_texts())
    assert shown[0].inner_text() == "add + tanh f32[128,512] · lines 9, 10"


def test_a_comparison_is_linked_with_both_graphs(opened, step):
    opened.show(step)
    group_by(opened.page, "none")
    row = opened.find(".xs-compare-row[data-after='3']")
    row.locator("[data-side=before]").click()
    assert "update(params, x, y)" in opened.find(".xs-head select").first.locator("option:checked").inner_text()
    assert opened.find(".xs-node.selected[data-path='3']").count() == 1
    assert opened.find(".xs-compare-row.selected").count() == 1
    row.locator("[data-side=after]").click()
    assert "x[:64]" in opened.find(".xs-head select").first.locator("option:checked").inner_text()
    assert opened.find(".xs-node.selected[data-path='3']").count() == 1
    node = opened.find(".xs-node[data-path='6']")
    assert node.locator(".xs-title").text_content().startswith("~ dot_general")
    node.dispatch_event("pointerdown", {"button": 0})
    node.dispatch_event("pointerup", {"button": 0})
    assert opened.find(".xs-compare-row.selected").get_attribute("data-after") == "6"


def test_a_comparison_is_walked_with_the_keyboard(opened, step):
    opened.show(step)
    first = opened.find(".xs-compare-row[data-row]").first
    first.focus()
    opened.page.keyboard.press("ArrowDown")
    second = opened.find(".xs-compare-row[data-row]").nth(1)
    assert second.evaluate("row => row === document.activeElement")
    opened.page.keyboard.press("Enter")
    assert second.evaluate("row => row.classList.contains('selected')")
    assert second.evaluate("row => row === document.activeElement")


def test_runs_of_equations_that_are_alike_open(opened, samples):
    before = samples.training_records()
    jaxpr = samples.training_jaxpr()
    changed = (
        *jaxpr.equations[:-1],
        Equation("99", "sin", "", jaxpr.equations[-1].inputs, jaxpr.equations[-1].outputs),
    )
    after = Jaxpr(jaxpr.name, (), jaxpr.inputs, jaxpr.outputs, jaxpr.variables, changed)
    opened.show(compare(before, [samples.traced(jaxpr=after)]))
    fold = opened.find(".xs-compare-fold")
    assert fold.count() == 1 and "alike" in fold.inner_text()
    fold.focus()
    opened.page.keyboard.press("Enter")
    assert opened.find(".xs-compare-row[data-row]").count() == 52 and fold.count() == 0


@pytest.mark.parametrize("width", [700, 1400])
def test_a_comparison_fits_its_page(windows, tmp_path, step, width):
    opened = Opened(windows, tmp_path, color_scheme="dark")
    opened.page.set_viewport_size({"width": width, "height": 900})
    opened.show(step)
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened.screenshot(f"compare_dark_{width}")
    opened.page.close()


def test_each_repeat_of_a_loop_is_a_bar_of_its_own(opened):
    weights = [np.eye(512, dtype=np.float32)] * 10

    @functools.partial(xs.jit, reroll="always")
    def steps(weights, x):
        for _ in range(12):
            for w in weights:
                x = jnp.tanh(x @ w) + x
        return x

    opened.show(xs.inspect.timings(steps, weights, jnp.ones((64, 512))).records)
    words = opened.find(".xs-bar").evaluate_all("bars => bars.map(bar => bar.getAttribute('aria-label'))")
    told = [place for each in words for place in re.findall(r"repeat (\d+) of 12$", each or "")]
    assert {"1", "12"} <= set(told)
    assert "one of 12 repeats a run, compiled once" in opened.find(".xs-panel").inner_text()
    assert "× 12" in opened.find(".xs-panel").inner_text()


@pytest.mark.parametrize("poison", ["script", "control", "direction", "long"])
def test_hostile_names_are_inert_in_pages_and_comparisons(opened, samples, poison):
    hostile = module("test_hostile")
    sound = samples.training_records()
    found = [hostile.poisoned(each, hostile.HOSTILE[poison]) for each in sound]
    for shown in (found, compare(sound, found, labels=("sound", hostile.HOSTILE[poison]))):
        opened.show(shown)
        opened.find(".xs-node[data-kind=equation]").first.wait_for()
        opened.find(".xs-kernel").first.click()
        opened.find(".xs-line.has").first.click()
        assert opened.page.evaluate("window.hacked === undefined && ({}).hacked === undefined")
        assert (
            opened.find("#xlascope-panel :is(script, iframe, img, object, embed, link, meta, base, form)").count() == 0
        )
        shown_text = opened.find("#xlascope-panel").inner_text()
        assert not hostile.ACTING.search(shown_text) and len(shown_text) < 400_000
        assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
