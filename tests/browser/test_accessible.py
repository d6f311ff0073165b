"""What the mouse reaches is reached without it: axe-core on every view of the panel, and what axe does not look at."""

import base64
import json

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from tests.browser import test_explorer, test_fusion_view
from tests.browser.conftest import group_by
from tests.browser.test_export import Opened, step  # noqa: F401 (a fixture)
from tests.browser.test_fusion_view import compiled, found  # noqa: F401 (fixtures)
from tests.browser.test_panel import samples  # noqa: F401 (a fixture)

from xlascope.records import Traced
from xlascope_widgets import assets

# JupyterLab's own colours, which the panel takes over, and ours, where there is no JupyterLab.
THEMES = {
    "light": ("true", ""),
    "dark": ("false", "background:#111"),
    "jupyter-light": ("true", "--jp-layout-color0:#fff;--jp-layout-color1:#fff;--jp-ui-font-color1:rgba(0,0,0,.87)"),
    "jupyter-dark": (
        "false",
        "background:#111;--jp-layout-color0:#111;--jp-layout-color1:#212121;--jp-ui-font-color1:rgba(255,255,255,.87)",
    ),
}

SLOW = pytest.mark.slow

# What is wrong, as "rule element: message"; from the serious on.
AXE = """async rules => {
    const only = rules ? {runOnly: {type: 'rule', values: rules}} : {};
    const found = await axe.run('.xs-root', {resultTypes: ['violations'], ...only});
    const bad = found.violations.filter(one => ['serious', 'critical'].includes(one.impact));
    const why = node => [...node.any, ...node.all, ...node.none].map(check => check.message).join('; ');
    return bad.flatMap(one => one.nodes.map(node => `${one.id} ${node.target.join(' ')}: ${why(node)}`));
}"""

# What looks as if it could be clicked and is in nothing that takes the focus, or that has no name.
UNREACHED = """() => {
    const clickable = one => ['pointer', 'zoom-in', 'zoom-out'].includes(getComputedStyle(one).cursor);
    const named = one => one.getAttribute('aria-label') || one.innerText || one.textContent.trim() || one.title ||
        one.labels?.length;
    const holder = one => one.closest('button, input, select, a, summary, label, [tabindex]');
    // The strip is one large button around a small one; a hull is in the list of kernels.
    const shown = [...document.querySelectorAll('.xs-root *')].filter(one => one.getClientRects().length &&
        !one.closest('.xs-hull') && (!one.closest('.xs-strip') || one.closest('button')));
    const bad = shown.filter(clickable).filter(one => !holder(one) || !named(holder(one)));
    return bad.map(one => one.outerHTML.slice(0, 120));
}"""

# Words in pictures, which axe does not judge: their colour against the last shape that is painted under their middle.
PAINTED = """() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const over = layers => {
        canvas.globalAlpha = 1;
        canvas.clearRect(0, 0, 1, 1);
        for (const [colour, opacity] of layers) {
            canvas.globalAlpha = opacity;
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
        }
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = rgb => {
        const [r, g, b] = rgb.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = getComputedStyle(document.querySelector('.xs-panel')).backgroundColor;
    const bad = [];
    for (const picture of document.querySelectorAll('.xs-root svg')) {
        const shapes = [...picture.querySelectorAll('rect:not(.hit)')].map(one => [one, one.getBoundingClientRect()]);
        for (const words of picture.querySelectorAll('text, tspan')) {
            const own = [...words.childNodes].some(one => one.nodeType === 3 && one.data.trim());
            const box = words.getBoundingClientRect();
            if (!own || !box.width || words.closest('.faint')) continue;
            const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
            const under = shapes.filter(([one, at]) => at.left <= x && x <= at.right && at.top <= y && y <= at.bottom &&
                one.compareDocumentPosition(words) & Node.DOCUMENT_POSITION_FOLLOWING);
            const layers = [[ground, 1], ...under.map(([one]) => {
                const {fill, fillOpacity} = getComputedStyle(one);
                return [fill === 'none' ? 'transparent' : fill, Number(fillOpacity)];
            })];
            // What is written over lines has a rim of the ground's colour.
            const {fill: ink, stroke} = getComputedStyle(words);
            if (stroke !== 'none') layers.push([stroke, 1]);
            const back = light(over(layers));
            const front = light(over([...layers, [ink, 1]]));
            const contrast = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
            const name = `${words.getAttribute('class')} in ${words.parentElement.getAttribute('class')}`;
            if (contrast < 4.5) bad.push(`${contrast.toFixed(2)} ${words.textContent} (${name})`);
        }
    }
    return bad;
}"""

RETRACED = {
    "function": "step",
    "count": 4,
    "seconds": 1.2,
    "retraces": [
        {
            "number": 1,
            "where": "In[3]:1",
            "reason": "the shape of x",
            "fix": "pad it",
            "inside": "",
            "trace": 0.1,
            "lower": 0.1,
            "compile": 0.1,
            "seconds": 0.3,
        }
    ],
    "misses": [{"where": "In[1]:2", "reason": "an array of NumPy’s", "fix": "jnp.asarray", "count": 3}],
}
FAILURE = {"function": "f", "stage": "trace", "error": "TypeError", "message": "one\nanother", "line": 3}


class Judged:
    """A panel on a page with axe in it."""

    def __init__(self, page):
        self.page = page
        self.bad = []
        self.rules = None

    def show(self, state, theme):
        light, style = THEMES[theme]
        self.rules = None if theme == "light" else ["color-contrast"]  # themes differ in nothing else
        page = test_fusion_view.PAGE.replace('theme-light="true"', f'theme-light="{light}"').replace(
            "margin:8px", f"margin:8px;{style}"
        )
        data = base64.b64encode(json.dumps({"state": state, "code": assets.browser_module()}).encode()).decode()
        self.page.goto("about:blank")
        self.page.set_content(page % (assets.style(), data))
        self.page.wait_for_function("window.ready === true")
        self.page.evaluate(AXE_SCRIPT + ";0")

    def find(self, selector):
        return self.page.locator(selector)

    def judge(self, view):
        told = self.page.evaluate(AXE, self.rules) + self.page.evaluate(UNREACHED) + self.page.evaluate(PAINTED)
        self.bad += [f"{view}: {each}" for each in told]


@pytest.fixture
def judged(new_page):
    page = new_page(1400, 1000)
    judged = Judged(page)
    yield judged
    page.close()


def state_of_all(records, made):
    """A panel with something in each of its views and cards."""
    traced = next(each for each in records if isinstance(each, Traced))
    fv = test_fusion_view
    state = fv.state_of([*records, fv.decisions(made), fv.elsewhere(made), fv.passes(made, traced)])
    kernel = made.kernels[0].name
    path = next(each.path for each in traced.jaxpr.walk() if each.operation == "tanh")
    advice = {
        "rule": "sorted for few",
        "says": "12 values are sorted",
        "action": "take 3",
        "share": 0.5,
        "evidence": [],
    }
    findings = [advice | {"where": "In[1]:3", "kernel": kernel, "equation": path}, advice]
    card = {"findings": findings, "rules": 16, "notes": ["a rule had nothing to read"]}
    state["live"] |= {"doctor": {str(made.program): card}, "retraced": [RETRACED], "failures": [FAILURE]}
    return state


@pytest.mark.parametrize("theme", ["light", *(pytest.param(each, marks=SLOW) for each in list(THEMES)[1:])])
def test_axe_finds_nothing_serious_in_any_view(judged, found, compiled, theme):  # noqa: F811
    judged.show({**state_of_all(found, compiled), "opened": False}, theme)
    judged.judge("strip")
    judged.find(".xs-open").click()
    judged.judge("first sight")
    judged.find(".xs-why-head").click()
    judged.judge("recompiles")
    group_by(judged.page, "none")
    for heat in ("flops", "time"):
        judged.find(f"[data-command={heat}]").click()
    judged.judge("heat")
    judged.find("[data-command=pass]").click()
    judged.find(".xs-kernel").first.click()
    judged.judge("a kernel")
    for tab in judged.find("[data-tab]").evaluate_all("all => all.map(one => one.dataset.tab)"):
        judged.find(f"[data-tab={tab}]").click()
        judged.judge(tab)
    for tab in ("hottest", "memory"):
        judged.find(f"[data-time='tab {tab}']").click()
        judged.judge(tab)
    judged.find("[data-time='tab timeline']").click()
    judged.find("[data-time='colour kind']").click()
    judged.find(".xs-search").fill("tanh")
    judged.judge("kinds and a search")
    judged.find(".xs-search").press("Escape")
    judged.page.keyboard.press("l")
    judged.judge("the list")
    judged.page.keyboard.press("l")
    judged.page.keyboard.press("?")
    judged.judge("keys")
    assert not judged.bad, "\n".join(sorted(set(judged.bad)))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_large_program(judged, theme):
    """On a canvas, with the map; and where a graph would be too large."""
    judged.show(test_explorer.state_of([test_explorer.traced(test_explorer.mixed(1200))]), theme)
    judged.find("[data-command=expand]").click()
    judged.judge("from afar")
    judged.find(".xs-canvas-host").focus()
    for _ in range(16):
        judged.page.keyboard.press("+")
    judged.find(".xs-minimap").wait_for()
    judged.judge("map")
    group_by(judged.page, "none")
    judged.find(".xs-canvas-host").wait_for()
    judged.find(".xs-canvas-host").focus()
    judged.page.keyboard.press("ArrowDown")
    judged.page.keyboard.press("Enter")
    judged.judge("canvas")
    assert not judged.bad, "\n".join(sorted(set(judged.bad)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_comparison(windows, tmp_path, step, scheme):  # noqa: F811
    opened = Opened(windows, tmp_path, color_scheme=scheme)
    opened.show(step)
    judged = Judged(opened.page)
    opened.page.evaluate(AXE_SCRIPT + ";0")
    judged.judge("comparison")
    opened.page.close()
    assert not judged.bad, "\n".join(sorted(set(judged.bad)))


def test_what_is_listed_is_walked_and_chosen_by_keys(judged, found, compiled):  # noqa: F811
    """The tables of time and memory, the lines of the source, the kernels, the list: each from its border on."""
    judged.show(state_of_all(found, compiled), "light")
    keys = judged.page.keyboard
    chosen = "document.querySelectorAll('.xs-root .selected').length"
    for tab, place in (("hottest", ".xs-time-list"), ("memory", ".xs-time-list"), ("timeline", ".xs-timeline-svg")):
        judged.find(f"[data-time='tab {tab}']").click()
        judged.find(place).focus()
        keys.press("ArrowDown")
        keys.press("ArrowDown")
        keys.press(" ")
        assert judged.page.evaluate(chosen) > 0, tab
        keys.press("Escape")
        assert judged.page.evaluate(chosen) == 0, tab
    for place in (".xs-source", ".xs-kernels"):
        for press in ("Enter", " "):
            judged.find(place).focus()
            keys.press("ArrowDown")
            keys.press(press)
            assert judged.page.evaluate(chosen) > 0, (place, press)
            keys.press("Escape")
            assert judged.page.evaluate(chosen) == 0, (place, press)
    judged.find(".xs-graph-svg").focus()
    keys.press("l")
    judged.find(".xs-outline").focus()
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    keys.press("Enter")
    # A group that is open is selected with what it holds; what was chosen above, by measured times, opens some.
    assert judged.page.evaluate("document.activeElement.matches('.xs-outline-row.selected[aria-selected=true]')")


def test_axe_is_alive(judged, found):  # noqa: F811
    """It would say so if there were something."""
    judged.show(test_fusion_view.state_of(found), "light")
    judged.page.evaluate("document.querySelector('.xs-search').removeAttribute('aria-label')")
    judged.page.evaluate("document.querySelector('.xs-search').removeAttribute('placeholder')")
    judged.page.evaluate("document.querySelector('.xs-search').removeAttribute('title')")
    judged.page.evaluate("document.querySelector('.xs-graph-svg').style.setProperty('--xs-ink2', '#ccc')")
    judged.page.evaluate("document.querySelector('.xs-legend').style.cursor = 'pointer'")
    judged.judge("spoiled")
    words = " ".join(judged.bad)
    assert "label .xs-search" in words and "xs-sub" in words and "xs-legend" in words
