"""Pictures of the first sight of programs, measured, for somebody to read who does not know them.

    python -m tests.browser.screenshots transformer [--widths 700 1400] [--themes light dark]

One at a time: a second function of the same name would count as traced again. They go to
build/screenshots/sight_PROGRAM_WIDTH_THEME.png. Who reads one writes down what the program does and where its time
goes, and then looks into tests/widgets/programs.py.
"""

import argparse
import base64
import json
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from tests.browser.conftest import CHROMIUM, SCREENSHOTS
from tests.browser.test_explorer import PAGE, state_of
from tests.widgets import programs

from xlascope.records import Record
from xlascope_widgets import assets

#: The last one is not measured: XLA alone would take minutes for it.
PROGRAMS: dict[str, Callable[[], list[Record]]] = {
    "digits": lambda: programs.digits(programs.measured),
    "transformer": lambda: programs.transformer(programs.measured),
    "lstm": lambda: programs.lstm(programs.measured),
    "sampler": lambda: programs.sampler(programs.measured),
    "large": lambda: programs.unrolled(times=147),
}
THEMES = {"light": "background:#fff", "dark": "background:#11151c;color:#dfe5ee"}


def show(page: Page, records: list[Record], width: int, theme: str) -> None:
    """A panel of records that nobody has touched."""
    data = base64.b64encode(json.dumps({"state": state_of(records), "code": assets.browser_module()}).encode())
    document = PAGE % (assets.style(), data.decode())
    document = document.replace('margin:8px"', f'margin:8px;{THEMES[theme]}"')
    if theme == "dark":
        document = document.replace('light="true"', 'light="false"')
    page.set_viewport_size({"width": width, "height": 1000})
    page.goto("about:blank")
    page.set_content(document)
    page.wait_for_function("window.ready === true", timeout=120_000)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program", choices=PROGRAMS)
    arguments.add_argument("--widths", nargs="+", type=int, default=[700, 1100, 1400, 1920])
    arguments.add_argument("--themes", nargs="+", choices=THEMES, default=list(THEMES))
    chosen = arguments.parse_args()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        records = PROGRAMS[chosen.program]()
        for width in chosen.widths:
            for theme in chosen.themes:
                show(page, records, width, theme)
                path: Path = SCREENSHOTS / f"sight_{chosen.program}_{width}_{theme}.png"
                page.screenshot(path=path, full_page=True)
                print(path)
        browser.close()


if __name__ == "__main__":
    main()
