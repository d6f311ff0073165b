"""The page of a job in a real Chromium, light and dark: all of it can be read."""

import dataclasses

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from tests.browser.saved_page import Opened
from tests.core.analysis.job import synthetic_jobs as synthetic
from tests.widgets.test_job_page import report

from xlascope import records

# Of the page, and of the words, bars and lines of its pictures: the colours, by what they are.
COLOURS = """() => {
    const colours = (selector, property) => [...new Set([...document.querySelectorAll(selector)].map(
        one => getComputedStyle(one)[property]))];
    return {
        page: colours('body', 'backgroundColor'),
        ground: colours('svg > rect.b', 'fill'), words: colours('text', 'fill'),
        work: colours('svg rect.w', 'fill'), collectives: colours('svg rect.c', 'fill'),
        axis: colours('.g', 'stroke'),
        waits: colours('svg rect.d', 'fill'), pale: colours('svg rect.p', 'fill'), text: colours('body', 'color'),
    };
}"""
AXE = """async () => (await axe.run(document, {runOnly: ['color-contrast']})).violations.flatMap(
    one => one.nodes.map(node => node.html))"""


def contrast(first, second):
    """The ratio of contrast of two colours as WCAG 2 has it."""

    def light(colour):
        parts = [int(part) / 255 for part in colour[4:-1].split(",")]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(first), light(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("scheme", "ground"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(17, 21, 28)")])
def test_the_page_of_a_job_follows_the_theme_of_the_system(windows, tmp_path, scheme, ground):
    """Its pictures, too: their ground is that of the page, and words and bars stand out from it."""
    opened = Opened(windows, tmp_path, color_scheme=scheme)
    difference = records.JobDifference("failure", "f", (1,), "raised", synthetic.LINE)
    opened.show([dataclasses.replace(report(), differences=(difference,))])
    found = opened.page.evaluate(COLOURS)
    assert found["page"] == found["ground"] == [ground]
    assert all(len(colours) == 1 for colours in found.values()), found
    assert contrast(found["text"][0], ground) > 7 and contrast(found["words"][0], ground) > 4.5
    assert min(contrast(found[name][0], ground) for name in ("work", "collectives", "waits", "pale")) > 3
    assert 1.2 < contrast(found["axis"][0], ground) < 3
    opened.page.evaluate(AXE_SCRIPT + ";0")
    assert opened.page.evaluate(AXE) == []
    opened.screenshot(f"job_{scheme}")
    opened.page.close()
    assert opened.complaints == []
