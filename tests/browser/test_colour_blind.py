"""Phases are told apart without colours: in lists, strip, legend and timeline, by their texture alone."""

import io

import numpy as np
import pytest
from PIL import Image
from tests.browser.test_accessible import Judged, state_of_all
from tests.browser.test_fusion_view import compiled, found  # noqa: F401 (fixtures)

PHASES = ("forward", "backward", "update")
#: Where phases are shown: what shows one, and the part of it to look at, from its left and its lower edge, in pixels.
PLACES = {
    "strip": (".xs-lanebar .pass-{}", (9, 8)),
    "legend": (".xs-legend .pass-{}", (14, 8)),
    "kernels": (".xs-kernel .xs-chip.pass-{}", (14, 8)),
    "timeline": (".xs-timeline .xs-bar.pass-{}", (14, 9)),
    "graph": (".xs-nodes .pass-{} .xs-side", (6, 20)),
    "list": (".xs-outline-row.pass-{}", (4, 20)),
}
#: How much lighter or darker the pixels of two textures are at least, on average, beside their mean: of 255.
LEAST = 12


def texture(page, selector, size):
    """The lightness of the widest element's corner around its mean."""
    all_of = page.locator(selector)
    widths = all_of.evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    widest = all_of.nth(int(np.argmax(widths)))
    widest.scroll_into_view_if_needed()
    box = widest.bounding_box()
    x, y, width, height = (box[side] for side in ("x", "y", "width", "height"))
    wide, high = size
    assert width >= wide - 1 and height >= high - 1, (selector, width, height)
    clip = {"x": x, "y": y + height - high, "width": wide, "height": high}
    pixels = np.asarray(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("L"), np.float64)
    return pixels - pixels.mean()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_phases_have_textures_of_their_own(new_page, found, compiled, theme):  # noqa: F811
    page = new_page(1440, 1600)
    judged = Judged(page)
    judged.show(state_of_all(found, compiled), theme)
    page.add_style_tag(content=".xs-lanebar {width: 1200px !important; flex: none}")  # small shares are wide as well
    devices = page.context.new_cdp_session(page)
    alike = []
    for kind in ("achromatopsia", "deuteranopia"):
        devices.send("Emulation.setEmulatedVisionDeficiency", {"type": kind})
        for place, (selector, size) in PLACES.items():
            if place == "list":
                page.locator("[data-command=list]").evaluate("one => one.click()")
            textures = [texture(page, selector.format(phase), size) for phase in PHASES]
            for i, one in enumerate(textures):
                for other, of in zip(textures[i + 1 :], PHASES[i + 1 :], strict=True):
                    apart = np.abs(one - other).mean()
                    if apart < LEAST:
                        alike.append(f"{kind}, {place}: {PHASES[i]} and {of} ({apart:.1f})")
            if place == "list":
                page.locator("[data-command=list]").evaluate("one => one.click()")
    page.close()
    assert not alike, "\n".join(alike)


#: The least distance of the colours of two phases, of 441 in red, green and blue: areas of a map have no hatching.
LEAST_DISTANCE = 60


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_phases_of_a_map_differ_without_red_and_green(new_page, found, compiled, theme):  # noqa: F811
    page = new_page(900, 900)
    Judged(page).show(state_of_all(found, compiled), theme)
    page.locator(".xs-root").evaluate(
        """root => root.insertAdjacentHTML('afterbegin', ['fwd', 'bwd', 'upd'].map(name =>
            `<p class="swatch" style="width:40px;height:10px;margin:0;background:var(--xs-${name})"></p>`).join(''))"""
    )
    page.context.new_cdp_session(page).send("Emulation.setEmulatedVisionDeficiency", {"type": "deuteranopia"})
    shots = [page.locator(".swatch").nth(i).screenshot() for i in range(3)]
    colours = [np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"), np.float64).mean((0, 1)) for shot in shots]
    page.close()
    for i, one in enumerate(colours):
        for other, name in zip(colours[i + 1 :], PHASES[i + 1 :], strict=True):
            assert np.linalg.norm(one - other) >= LEAST_DISTANCE, (theme, PHASES[i], name, one, other)
