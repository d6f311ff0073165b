"""Forty pictures of the panel: ten views, light and dark, at two widths; and what has changed in one since it was made.

    python -m tests.browser.pictures

makes tests/browser/pictures/ anew, after a change that is meant to be seen; who reviews it looks at build/pictures/
changes.html, where before and after stand side by side. Records are written by hand, so that no time and no jaxlib is
in a picture, and fonts are those of fonts-dejavu-core, which CI installs.

Another major version of Chromium, or other fonts, draw letters otherwise. Pictures are then compared coarsely, as
squares of 16 pixels: what is gone, covered, or has another colour is seen, and a letter is not.
"""

import base64
import dataclasses
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from pixelmatch.contrib.PIL import pixelmatch
from playwright.sync_api import Page, sync_playwright
from tests.browser.conftest import CHROMIUM, group_by
from tests.browser.test_export import compared_steps, module
from tests.browser.test_fusion_view import PAGE
from tests.widgets import programs

from xlascope.analysis.diff import Diff
from xlascope.records import Record, Traced
from xlascope_widgets import assets
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.static_state import make_static_state

FOLDER = Path(__file__).with_name("pictures")
CHANGES = Path(__file__).resolve().parents[2] / "build/pictures"
WIDTHS = (700, 1440)
THEMES = {"light": "#fff", "dark": "#111"}
FONTS = {"--jp-ui-font-family": "DejaVu Sans", "--jp-code-font-family": "DejaVu Sans Mono"}
#: The most pixels of a picture that may differ, by pixelmatch, which leaves out the rims of letters.
MOST_PIXELS = 25
#: Of a coarse comparison: the side of a square, from what difference of 255 on one differs, and the most that may.
SQUARE, LEAST_DIFFERENCE, MOST_SQUARES = 16, 60, 0.02
MOST_BYTES = 3_000_000
#: Steps of each colour in a picture that is kept, and how far of 255 colours may be apart to be the same.
STEPS, NEAR = 15, 24

#: How wide letters are: of fonts that are not there the browser would take others.
LETTERS = """fonts => {
    const context = document.createElement('canvas').getContext('2d');
    return fonts.map(font => {
        context.font = `100px "${font}", serif`;
        return Math.round(context.measureText('xlascope f32[128,512] ▸ ⊞').width);
    });
}"""


class Maker(NamedTuple):
    """What draws: a version of Chromium, and the widths of letters in each font."""

    chromium: str
    letters: list[int]

    @classmethod
    def of(cls, page: Page) -> "Maker":
        assert page.context.browser is not None
        return cls(page.context.browser.version, page.evaluate(LETTERS, list(FONTS.values())))

    def draws_as(self, other: "Maker") -> bool:
        """Tell whether pictures of both are the same, pixel by pixel."""
        return self.chromium.partition(".")[0] == other.chromium.partition(".")[0] and self.letters == other.letters


def press(page: Page, selector: str) -> None:
    """Click by script: what is pressed may lie anywhere."""
    page.locator(selector).first.evaluate("one => one.click()")


def _search(page: Page) -> None:
    group_by(page, "none")
    page.locator(".xs-search").fill("op:dot")


VIEWS: dict[str, tuple[str, Callable[[Page], None]]] = {
    "strip": ("training", lambda page: press(page, ".xs-open")),
    "first_sight": ("training", lambda page: None),
    "heat": ("training", lambda page: press(page, "[data-command=time]")),
    "equations": ("training", _search),
    "kernel": ("training", lambda page: press(page, ".xs-kernel")),
    "hottest": ("training", lambda page: press(page, "[data-time='tab hottest']")),
    "kinds": ("training", lambda page: press(page, "[data-time='colour kind']")),
    "list": ("training", lambda page: press(page, "[data-command=list]")),
    "map": ("transformer", lambda page: press(page, "[data-command=expand]")),
    "comparison": ("comparison", lambda page: press(page, ".xs-compare-row.sign-changed [data-side]")),
}
#: What of the panel a picture shows, where that is not all of it.
PARTS = {
    "strip": ".xs-strip",
    "heat": ".xs-middle",
    "equations": ".xs-middle",
    "kernel": ".xs-kernels",
    "hottest": ".xs-timeline",
    "kinds": ".xs-timeline",
    "list": ".xs-middle",
    "map": ".xs-middle",
    "comparison": ".xs-compare",
}


def _untimed(record: Record) -> Record:
    """Return a record as of the first trace in a process, with a time of its own."""
    if not isinstance(record, Traced):
        return record
    return dataclasses.replace(record, program=1, time=0.0, seconds=0.01, reason="first call", fix="", origin="first")


def states() -> dict[str, dict[str, Any]]:
    """The states that views are of."""
    samples = module("samples")
    shown: dict[str, list[Record] | Diff] = {
        "training": samples.training_records(),
        "transformer": [_untimed(record) for record in programs.transformer()],
        "comparison": compared_steps(samples),
    }
    return {name: make_static_state(ProgramStore.of(each)) for name, each in shown.items()}


def show(page: Page, state: dict[str, Any], theme: str, width: int) -> None:
    """Open a panel on an empty page."""
    data = base64.b64encode(json.dumps({"state": state, "code": assets.browser_module()}).encode()).decode()
    style = ";".join(f"{name}:{font}" for name, font in FONTS.items())
    document = PAGE.replace('theme-light="true"', f'theme-light="{str(theme == "light").lower()}"')
    document = document.replace("margin:8px", f"margin:8px;background:{THEMES[theme]};{style}")
    page.set_viewport_size({"width": width, "height": 1400})
    page.goto("about:blank")
    page.set_content(document % (assets.style(), data))
    page.wait_for_function("window.ready === true")


def settle(page: Page) -> None:
    """Wait until what was asked for is drawn, and forget the mouse and the focus."""
    page.evaluate("document.activeElement?.blur?.()")
    page.evaluate("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(go, 60))))")


def taken(
    page: Page,
    look: Callable[[str], None] = lambda name: None,
    themes: Iterable[str] = THEMES,
    widths: Iterable[int] = WIDTHS,
) -> Iterator[tuple[str, Image.Image]]:
    """Take each picture; ``look`` is called with its name while the page shows it."""
    shown = states()
    for theme in themes:
        for width in widths:
            for view, (state, prepare) in VIEWS.items():
                show(page, {**shown[state], "opened": True}, theme, width)
                prepare(page)
                settle(page)
                name = f"{view}_{width}_{theme}"
                look(name)
                yield name, shot(page, view)


def shot(page: Page, view: str) -> Image.Image:
    """Take the picture of a view that the page shows."""
    pixels = page.locator(PARTS.get(view, ".xs-root")).first.screenshot(animations="disabled")
    return Image.open(io.BytesIO(pixels)).convert("RGB")


def reduced(image: Image.Image) -> Image.Image:
    """Return a picture of few colours, each close to the one that was drawn."""
    stepped = image.point([round(round(value / 255 * STEPS) * 255 / STEPS) for value in range(256)] * 3)
    colours = stepped.getcolors(256)
    return stepped.quantize(len(colours)) if colours else stepped


def mismatch(before: Image.Image, after: Image.Image) -> tuple[int, Image.Image | None]:
    """Count the pixels that differ, and return the picture that shows them; they are looked for where any differ."""
    if before.size != after.size:
        return before.width * before.height, None
    far = (np.abs(np.asarray(before, np.int16) - np.asarray(after, np.int16)).max(-1) > NEAR).astype(np.uint8)
    box = Image.fromarray(far).getbbox()
    if box is None:
        return 0, None
    box = max(0, box[0] - 2), max(0, box[1] - 2), min(after.width, box[2] + 2), min(after.height, box[3] + 2)
    parts = before.crop(box).convert("RGBA"), after.crop(box).convert("RGBA")
    output = Image.new("RGBA", parts[0].size)
    count = pixelmatch(*parts, output)
    whole = Image.blend(after, Image.new("RGB", after.size, "white"), 0.8)
    whole.paste(output.convert("RGB"), box)
    return count, whole


def coarse_mismatch(before: Image.Image, after: Image.Image) -> float:
    """Return the share of squares whose mean colours differ clearly; heights may differ by a line of text or two."""
    if before.width != after.width or abs(before.height - after.height) > 0.1 * before.height:
        return 1.0
    size = max(1, before.width // SQUARE), max(1, before.height // SQUARE)
    sides = [np.asarray(image.resize(size, Image.Resampling.BOX), np.float64) for image in (before, after)]
    return float((np.abs(sides[0] - sides[1]).max(-1) >= LEAST_DIFFERENCE).mean())


def made_by() -> Maker:
    """Read what the pictures of the repository were drawn by."""
    return Maker(**json.loads((FOLDER / "made_by.json").read_text(encoding="utf-8")))


def report(
    changed: dict[str, tuple[Image.Image | None, Image.Image, Image.Image | None]], name: str = "changes"
) -> Path:
    """Write a page with each picture before, after, and what differs, side by side; return where it is."""
    CHANGES.mkdir(parents=True, exist_ok=True)
    rows = []
    for title, images in changed.items():
        cells = []
        for kind, image in zip(("before", "after", "differs"), images, strict=True):
            if image is not None:
                image.save(CHANGES / f"{title}_{kind}.png")
            cells.append(f"<td>{f'<img src={title}_{kind}.png>' if image is not None else '–'}</td>")
        rows.append(f"<tr><th colspan=3>{title}</th></tr><tr>{''.join(cells)}</tr>")
    style = "<style>td{vertical-align:top}img{max-width:32vw;border:1px solid #999}th{text-align:left}</style>"
    head = "<tr><th>before</th><th>after</th><th>what differs</th></tr>"
    page = CHANGES / f"{name}.html"
    page.write_text(f"<!doctype html><meta charset=utf-8>{style}<table>{head}{''.join(rows)}</table>", encoding="utf-8")
    return page


def main() -> None:
    """Make the pictures anew, and say which have changed."""
    FOLDER.mkdir(exist_ok=True)
    changed: dict[str, Any] = {}
    names = set()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        for name, image in taken(page):
            names.add(name)
            file = FOLDER / f"{name}.png"
            before = Image.open(file).convert("RGB") if file.exists() else None
            count, differs = (1, None) if before is None else mismatch(before, image)
            if not count:
                continue
            changed[name] = before, image, differs
            reduced(image).save(file, optimize=True)
            assert mismatch(Image.open(file).convert("RGB"), image)[0] == 0, name
        maker = Maker.of(page)
        browser.close()
    for file in FOLDER.glob("*.png"):
        if file.stem not in names:
            file.unlink()
    (FOLDER / "made_by.json").write_text(json.dumps(maker._asdict()) + "\n", encoding="utf-8")
    size = sum(file.stat().st_size for file in FOLDER.glob("*.png"))
    print(f"{len(names)} pictures, {len(changed)} of them changed, {size:,} bytes; {report(changed)}")
    assert size <= MOST_BYTES, "fewer views, or smaller parts of them"


if __name__ == "__main__":
    main()
