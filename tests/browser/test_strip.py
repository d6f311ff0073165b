"""The strip on a plain page: what goes on, failures of any function, the recompile card, and what a reader hears."""

import time

import pytest
from tests.browser.test_panel import SCREENSHOTS, Drawn, state_of

from xlascope.records import (
    Compiled,
    DeviceShare,
    DeviceTime,
    Executed,
    Failure,
    Jaxpr,
    KernelTime,
    Lowered,
    SourceRange,
    Span,
    Started,
    TimeAccount,
    TimePart,
    Traced,
)

EMPTY = Jaxpr("f", (), (), (), {}, ())
SITE = SourceRange("In[7]", 3, 0, 3, 9, "<module>")
HOSTILE = "<img src=x onerror='window.hacked=1'>"


def traced(program, function="update", reason="first call", fix="", seconds=0.002):
    return Traced(program, function, time.time(), seconds, EMPTY, "", reason, SITE, (), fix)


def built(program, function="update", **more):
    return [
        traced(program, function, **more),
        Lowered(program, function, time.time(), 0.001, 3),
        Compiled(program, function, time.time(), 0.25, "miss", "cpu", (), f"jit_{program}", (), ""),
    ]


def again(program, function="update", old=2):
    return built(program, function, reason=f"x: f32[{old}] → f32[{old + 1}]", fix="Pad or batch the data.")


@pytest.fixture
def strip(new_page):
    page = new_page(1280, 700)
    drawn = Drawn(page)
    yield drawn
    assert drawn.errors == [] and page.evaluate("window.hacked") is None
    page.close()


def told(strip):
    return " ".join(strip.find(".xs-strip").inner_text().split())


def test_what_goes_on_and_for_how_long(strip):
    strip.show(state_of([*built(1), Started(2, "loss", "compile", time.time() - 2)], opened=False))
    first = strip.find(".xs-strip [data-since]").inner_text()
    strip.page.wait_for_timeout(400)
    assert strip.find(".xs-strip [data-since]").inner_text() != first
    assert "compiling loss" in told(strip)
    assert strip.find(".xs-said").inner_text() == "compiling loss"


def test_a_function_that_failed_is_told_beside_the_one_shown(strip):
    failed = Failure(2, HOSTILE, "trace", time.time(), "TypeError", HOSTILE, SITE)
    strip.show(state_of([*built(1), failed], opened=True, finished=True))
    assert "traced update" in told(strip) and "failed TypeError" in told(strip)
    assert "line 3" in strip.find(".xs-note.bad").inner_text() and strip.find("img").count() == 0
    assert "TypeError" in strip.find(".xs-said").inner_text()


@pytest.mark.parametrize(
    ("times", "words"), [(1, "why update traced again?"), (5, "⚠ update traced again ×5 at In[7]:3")]
)
def test_why_a_function_was_traced_again(strip, times, words):
    records = [*built(1), *(record for n in range(times) for record in again(n + 2, old=n + 2))]
    strip.show(state_of(records, opened=False, finished=True))
    why = strip.find(".xs-why")
    assert why.inner_text().startswith(words) and (why.get_attribute("class") == "xs-why warn") == (times > 2)
    why.focus()
    why.press("Enter")
    assert strip.find(".xs-panel").is_visible()
    rows = strip.find(".xs-why-row").all_inner_texts()
    assert len(rows) == times
    first = " ".join(rows[0].split())
    for part in (
        f"trace {times + 1}",
        "In[7]:3",
        f"→ f32[{times + 2}]",
        "→ Pad or batch the data.",
        "253 ms lost",
        "compile",
    ):
        assert part in first, first
    strip.page.keyboard.press("Enter")  # the focus is on the card's head
    assert strip.find(".xs-why-row").count() == 0
    if times > 2:
        strip.page.keyboard.press("Enter")
        for width in (700, 1400):
            strip.page.set_viewport_size({"width": width, "height": 700})
            strip.page.screenshot(path=SCREENSHOTS / f"recompile_card_{width}.png")


def test_a_cell_that_traces_nothing_again_has_no_card(strip):
    strip.show(state_of(built(1), finished=True))
    assert strip.find(".xs-why").count() == 0 and strip.find(".xs-again").is_hidden()


def test_hostile_names_in_the_card(strip):
    strip.show(state_of([record for n in range(4) for record in again(n + 1, HOSTILE)], finished=True))
    strip.find(".xs-why").click()
    assert strip.find("img").count() == 0 and HOSTILE in strip.find(".xs-why-head").inner_text()


def test_a_panel_that_follows_forgets_the_cell_before(strip):
    strip.show(state_of([*built(1), *again(2)], finished=True))
    later = state_of(built(9, "loss"), finished=True)
    later["live"] |= {"seq": 100, "cell": "In[9]"}
    strip.page.evaluate(
        """later => {
        const {model} = window;
        model.set("live", later.live);
        model.set("programs", later.programs);
    }""",
        later,
    )
    assert told(strip).startswith("In[9]") and "loss" in told(strip) and "update" not in told(strip)
    assert strip.find(".xs-why").count() == 0 and strip.find(".xs-again").is_hidden()


def ran(step, clock, whole=0, **more):
    """An `Executed` of a program of which the profiler has seen so many whole calls, or a part of one."""
    kernels = (KernelTime("dot", whole, 0.06 * whole),) if whole else ()
    seen = (DeviceTime("cpu:0", 0.06 * whole, kernels, (Span("dot", 0.0, 0.024),), whole=whole > 0),)
    return Executed(1, "update", time.time(), 10, 0.8, 0.08 * whole, whole, step, seen, clock, **more)


@pytest.mark.parametrize(
    ("record", "words", "tip"),
    [
        (ran(0.08, "host", 3, profiling=0.12), "10 calls · 80 ms each (host clock)", "the first for 120 ms"),
        (ran(0.09, "profile", 3), "10 calls · 90 ms each (profiler)", "slows a call down a little"),
        (ran(0.38, "host", 0, at_most=True), "10 calls · ≤ 380 ms each (host clock)", "from call to call"),
        (ran(0.162, "host"), "10 calls · 162 ms each (host clock)", "by the host's clock"),
        (ran(0.0, ""), "10 calls", "No call has finished"),
    ],
)
def test_the_time_of_a_call_and_whose_clock_says_so(strip, record, words, tip):
    strip.show(state_of([*built(1), record], opened=False, finished=True))
    assert words in told(strip)
    ran_stage = strip.find(".xs-stage:has-text('ran')").first
    assert tip in ran_stage.get_attribute("title")
    part = "part of a step" in told(strip)
    assert part == (not record.observed_calls) and part == ("busy" not in told(strip))
    name = f"strip_{record.clock}_{record.step:g}"
    strip.page.screenshot(path=SCREENSHOTS / f"{name}_light.png")
    strip.page.evaluate("document.body.dataset.jpThemeLight = 'false'; document.body.style.background = '#111'")
    strip.page.wait_for_selector(".xs-root.dark")
    strip.page.screenshot(path=SCREENSHOTS / f"{name}_dark.png")


def test_the_bar_of_the_cells_time_opens_into_a_table(strip):
    parts = (
        TimePart("compile", 0.25, 1),
        TimePart("dispatch", 0.01, 100, 1, HOSTILE, measured=26),
        TimePart("wait", 0.4, 1, source=SITE, line_share=1.0),
        TimePart("python", 0.3),
    )
    account = TimeAccount(None, "In[7]", time.time(), 1.0, 0.4, parts, (DeviceShare(1, "update", 100, 0.5),))
    strip.show(state_of([*built(1), account], opened=False, finished=True))
    bar = strip.find(".xs-time")
    assert not strip.find(".xs-account").is_visible() and bar.get_attribute("aria-expanded") == "false"
    bar.click()
    rows = [" ".join(row.split()) for row in strip.find(".xs-account tr").all_inner_texts()]
    assert rows[0] == "waiting for results 400 ms 40 % 1 wait, at line 3 of In[7]"
    assert rows[-2].startswith("unaccounted 40.0 ms 4") and rows[-1].startswith("update 500 ms 50 % 100 calls")
    assert strip.find(".xs-panel").is_hidden()  # the bar opens no panel
    strip.screenshot("account")
    strip.find(".xs-time").click()
    assert not strip.find(".xs-account").is_visible()
    assert strip.find(".xs-account img").count() == 0
