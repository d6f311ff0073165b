"""The pictures of the README and the pages: panel.png, kept.png, repeats.png, and training.gif.

    python -m tests.browser.doc_images [panel kept repeats training]

Nothing is drawn by hand: the first notebook's cells run in JupyterLab, and the programs of two pages in this process.
Times are those of this machine, so a picture is made anew when the panel looks otherwise, and on an idle machine.
"""

import argparse
import os
import runpy
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from tests.browser import moving_picture, screenshots
from tests.browser.conftest import CHROMIUM, Lab, LabServer

from xlascope import inspect
from xlascope.records import Record

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images"
WIDTH, COLOURS = 1180, 128
TRAINING = moving_picture.TRAINING.replace("2000", "60")

LAYERS = """import xlascope as xs, xlascope.numpy as jnp


def norm(x):
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5)


def loss(weights, x):
    for up, down in weights:
        x = x + jnp.tanh(norm(x) @ up) @ down
    return jnp.mean(x * x)


@xs.jit
def step(weights, x):
    gradients = xs.grad(loss)(weights, x)
    return [(up - 0.1 * a, down - 0.1 * b) for (up, down), (a, b) in zip(weights, gradients)]
"""
LEAPFROG = """import xlascope as xs, xlascope.numpy as jnp


def force(x):
    away = x[None] - x[:, None]
    squared = jnp.sum(away * away, -1) + 0.1
    return jnp.sum(away / (squared * jnp.sqrt(squared))[..., None], 1)


@xs.jit
def path(x, v):
    for _ in range(24):
        x = x + 0.01 * v
        v = v + 0.02 * force(x)
    return x, v
"""


def write(name: str, pixels: bytes) -> None:
    """Write a picture with few colours, and say how large it is."""
    image = Image.open(BytesIO(pixels)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(IMAGES / f"{name}.png", optimize=True)
    print(f"docs/images/{name}.png: {image.width} × {image.height}, {(IMAGES / f'{name}.png').stat().st_size:,} bytes")


def in_file(name: str, source: str, home: Path) -> dict[str, Any]:
    """Run a source as a file of this name, which the panel then shows."""
    (home / name).write_text(source)
    return runpy.run_path(str(home / name))


def layers(home: Path) -> list[Record]:
    """Eight layers, measured: results of theirs are kept."""
    rng = np.random.default_rng(0)
    weights = [tuple(np.float32(rng.normal(0, 0.1, shape)) for shape in ((32, 64), (64, 32))) for _ in range(8)]
    x = np.float32(rng.normal(size=(64, 32)))
    return list(inspect.timings(in_file("layers.py", LAYERS, home)["step"], weights, x).records)


def leapfrog(home: Path) -> list[Record]:
    """Twenty-four equal steps, measured: they are compiled once."""
    x, v = np.float32(np.random.default_rng(0).normal(size=(2, 128, 3)))
    return list(inspect.timings(in_file("leapfrog.py", LEAPFROG, home)["path"], x, v).records)


PROGRAMS: dict[str, Callable[[Path], list[Record]]] = {"kept": layers, "repeats": leapfrog}


def of_program(browser: Browser, records: list[Record]) -> bytes:
    """Take the picture of a panel that nobody has touched."""
    page = browser.new_page()
    screenshots.show(page, records, WIDTH, "light")
    try:
        return page.locator(".xs-root").screenshot()
    finally:
        page.close()


def of_training(lab: Lab) -> bytes:
    """Take the picture of the panel of a cell that has trained, where a layer is selected."""
    notebook = moving_picture.prepared(lab, TRAINING)
    notebook.page.set_viewport_size({"width": 1280, "height": 1300})
    notebook.run_cell(1)
    notebook.wait_idle(300)
    output = notebook.cell_output(1)
    output.locator(".xs-open").click()
    output.locator(".xs-node.group.pass-forward").filter(has_text="tanh").first.click()
    moving_picture.at_top(notebook, output)
    return output.locator(".xs-root").screenshot()


@contextmanager
def jupyterlab(browser: Browser) -> Iterator[Lab]:
    """A JupyterLab of our own."""
    with tempfile.TemporaryDirectory() as home:
        server = LabServer(Path(home))
        try:
            server.wait_until_up()
            lab = Lab(server, browser)
            yield lab
            lab.close()
        finally:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ("panel", *PROGRAMS, "training")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; without any all of them")
    chosen = parser.parse_args().names or names
    if unknown := set(chosen) - set(names):
        parser.error(f"no picture {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        options = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        for name in set(chosen) & PROGRAMS.keys():
            write(name, of_program(browser, PROGRAMS[name](Path(home))))
        if "panel" in chosen:
            with jupyterlab(browser) as lab:
                write("panel", of_training(lab))
        browser.close()
    if "training" in chosen:
        moving_picture.main()


if __name__ == "__main__":
    main()
