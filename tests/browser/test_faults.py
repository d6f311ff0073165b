"""Faults of pictures, found by geometry: every view, light and dark, docked and at three widths.

No words are cut without an ellipsis, none lie on others, under a box or outside of theirs; words have contrast; what
has the focus shows it. `geometry.js` is the function that looks.
"""

from pathlib import Path

import pytest
from tests.browser.conftest import SCREENSHOTS, group_by
from tests.browser.test_accessible import Judged, state_of_all
from tests.browser.test_export import module, samples, step  # noqa: F401 (fixtures)
from tests.browser.test_fusion_view import compiled, found  # noqa: F401 (fixtures)
from tests.widgets import programs

from xlascope_widgets import picture
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.static_state import make_static_state

GEOMETRY = Path(__file__).with_name("geometry.js").read_text(encoding="utf-8")
#: The first is that of a panel that is docked beside a notebook in a window of 1,000 pixels.
WIDTHS = (440, 700, 1000, 1440)

# What takes the focus and does not show it, or shows it where an ancestor cuts it off.
UNSEEN_FOCUS = """() => {
    const bad = new Set();
    const root = document.querySelector('.xs-root');
    const all = [...root.querySelectorAll('button, input, select, summary, [tabindex]')].filter(one =>
        one.checkVisibility({visibilityProperty: true}) && !one.disabled && !one.closest('.xs-unseen'));
    const look = one => {
        const {outlineStyle, outlineWidth, backgroundColor} = getComputedStyle(one);
        const body = one.querySelector(':scope > .xs-body');
        const stroke = body ? getComputedStyle(body).strokeWidth + getComputedStyle(body).stroke : '';
        const own = getComputedStyle(one).strokeWidth + getComputedStyle(one).stroke;
        return [outlineStyle === 'none' ? '' : outlineStyle + outlineWidth, stroke, own, backgroundColor].join();
    };
    for (const one of all) {
        one.blur();
        const before = look(one);
        one.focus({focusVisible: true, preventScroll: true});
        if (document.activeElement === one && look(one) === before)
            bad.add(`no sign of the focus: ${one.outerHTML.slice(0, 90)}`);
        const {outlineStyle, outlineWidth, outlineOffset} = getComputedStyle(one);
        if (outlineStyle === 'none') continue;
        const rim = parseFloat(outlineWidth) + parseFloat(outlineOffset);
        const at = one.getBoundingClientRect();
        for (let box = one.parentElement; box && box !== root; box = box.parentElement) {
            const {overflowX, overflowY} = getComputedStyle(box);
            if (overflowX === 'visible' && overflowY === 'visible') continue;
            const edge = box.getBoundingClientRect();
            const inside = at.top >= edge.top && at.bottom <= edge.bottom && at.left >= edge.left &&
                at.right <= edge.right;
            const cut = at.left - rim < edge.left - 0.5 && at.right + rim > edge.right + 0.5;
            if (inside && cut) bad.add(`focus cut off: ${one.outerHTML.slice(0, 90)}`);
            break;
        }
        one.blur();
    }
    return [...bad];
}"""


class Looked(Judged):
    """A panel on a page whose faults are collected, each once, with the views that show it."""

    def __init__(self, page):
        super().__init__(page)
        self.faults = {}

    def size(self, width):
        self.page.set_viewport_size({"width": width, "height": 2600})
        self.page.evaluate("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")

    def judge(self, view):
        for fault in self.page.evaluate(f"({GEOMETRY})(document.querySelector('.xs-root'))"):
            self.faults.setdefault(fault, []).append(view)

    def judge_focus(self, view):
        for fault in self.page.evaluate(UNSEEN_FOCUS):
            self.faults.setdefault(fault, []).append(view)

    def press(self, selector):
        """Click by script: what is pressed may lie anywhere."""
        self.find(selector).first.evaluate("one => one.click()")

    def report(self):
        return "\n".join(f"{fault}  [{len(views)}: {', '.join(views[:3])}]" for fault, views in self.faults.items())


@pytest.fixture
def looked(new_page):
    page = new_page(1440, 2600)
    looked = Looked(page)
    yield looked
    page.close()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    assert not looked.faults, looked.report()


def walk(looked, prefix):
    """Look at each view of a panel that is open, and leave it as it was."""

    def see(view):
        looked.judge(f"{prefix} {view}")

    see("first sight")
    for heat in ("time", "flops", "bytes", "pass"):
        looked.press(f"[data-command={heat}]")
        see(heat)
    looked.press("[data-command=expand]")
    see("expanded")
    looked.press("[data-command=collapse]")
    see("collapsed")
    group_by(looked.page, "none")
    for heat in ("time", "pass"):
        looked.press(f"[data-command={heat}]")
        see(f"equations {heat}")
    for tab in looked.find("[data-tab]").evaluate_all("all => all.map(one => one.dataset.tab)"):
        looked.press(f"[data-tab={tab}]")
        see(tab)
    looked.press("[data-tab=kernels]")
    looked.press(".xs-kernel")
    see("a kernel")
    for tab in ("hottest", "memory", "timeline"):
        looked.press(f"[data-time='tab {tab}']")
        see(tab)
    looked.press("[data-time='colour kind']")
    see("kinds")
    looked.find(".xs-search").fill("tanh")
    see("search")
    looked.find(".xs-search").press("Escape")
    looked.find(".xs-search").press("Escape")
    for command in ("list", "help"):
        looked.press(f"[data-command={command}]")
        see(command)
        looked.press(f"[data-command={command}]")
    if looked.find("[data-command=more]").is_visible():
        looked.press("[data-command=more]")
        see("menu")
    looked.press(".xs-sharing summary")
    see("share")
    looked.press(".xs-sharing summary")
    looked.judge_focus(f"{prefix} focus")
    group_by(looked.page, "auto")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_view_is_without_faults(looked, found, compiled, theme):  # noqa: F811
    state = state_of_all(found, compiled)
    state["questions"] = [*state["questions"], "share"]
    for width in WIDTHS:
        looked.size(width)
        looked.show({**state, "opened": False}, theme)
        looked.judge(f"{width} strip")
        looked.press(".xs-open")
        looked.press(".xs-why-head")
        looked.judge(f"{width} recompiles")
        looked.press(".xs-why-head")
        walk(looked, f"{width}")


#: Names that fit nowhere: of words, which can be broken, and of one word, which cannot.
LONG = {"words": "a rather long name " * 4, "word": "an_identifier_without_end_" * 6, "wide": "日本語の名前" * 8}


@pytest.mark.parametrize("kind", LONG)
def test_long_names_are_drawn_without_faults(looked, samples, kind):  # noqa: F811
    hostile = module("test_hostile")
    records = [hostile.poisoned(each, LONG[kind]) for each in samples.training_records()]
    state = make_static_state(ProgramStore.of(records)) | {"questions": ["share"]}
    looked.show(state, "light")
    for width in WIDTHS:
        looked.size(width)
        walk(looked, f"{width}")
    if kind == "wide":  # what names devices and their streams is ASCII
        looked.faults = {fault: views for fault, views in looked.faults.items() if "xs-stream" not in fault}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_comparison_is_drawn_without_faults(looked, step, theme):  # noqa: F811
    looked.show(make_static_state(ProgramStore.of(step)), theme)
    for width in WIDTHS:
        looked.size(width)
        looked.judge(f"{width}")
        looked.press(".xs-compare-row.sign-changed [data-side]")
        looked.judge(f"{width} a row")


NAMES = ["digits", "transformer", "lstm", "sampler", "unrolled"]


@pytest.mark.parametrize("name", NAMES)
def test_a_program_is_drawn_without_faults(looked, name):
    state = make_static_state(ProgramStore.of(getattr(programs, name)()))
    for theme in ("light", "dark"):
        looked.show(state, theme)
        for width in WIDTHS:
            looked.size(width)
            looked.press("[data-command=fit]")
            looked.judge(f"{theme} {width}")
            for heat in ("time", "pass"):
                looked.press(f"[data-command={heat}]")
            looked.press("[data-command=expand]")
            looked.judge(f"{theme} {width} expanded")
            looked.press("[data-command=collapse]")


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_picture_is_without_faults(looked, name):
    looked.page.set_content(f'<div class="xs-root"><div>{picture(getattr(programs, name)())}</div></div>')
    looked.judge("saved")


def test_the_geometry_is_alive(new_page):
    """It would say so if there were something."""
    page = new_page(800, 600)
    page.set_content("""<div class="xs-root" style="width:600px;background:#fff;position:relative">
        <div class="a" style="width:50px;overflow:hidden;white-space:nowrap">words that are cut off here</div>
        <div class="b" style="color:#999">pale</div>
        <button class="c" style="width:30px;white-space:nowrap;overflow:visible">longer than that</button>
        <p class="d" style="margin:0">below</p><p class="e" style="margin:-18px 0 0">above</p>
        <p class="f">hidden</p><p style="background:#eee;height:30px;position:relative;margin:-40px 0 0"></p>
        <svg width="100" height="40"><text class="g" y="20">one</text><rect class="h" width="99" height="30"/></svg>
        </div>""")
    told = "\n".join(page.evaluate(f"({GEOMETRY})(document.querySelector('.xs-root'))"))
    for words in (
        "cut: words",
        "contrast 2.85: pale",
        "outside its box: longer",
        "words on .e: below",
        "under .p: hid",
    ):
        assert words in told, told
    assert "under .h: one" in told
    page.close()
