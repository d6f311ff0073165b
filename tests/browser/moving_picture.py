"""The README's moving picture: a cell that trains in JupyterLab, its strip, and the panel that it opens into.

    python -m tests.browser.moving_picture

Nothing is drawn by hand: the first notebook's cells run in a real kernel, and a real browser is asked for its pixels.
"""

import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
from PIL import Image
from playwright.sync_api import Locator, sync_playwright
from tests.browser.conftest import CHROMIUM, Lab, LabNotebook, LabServer
from tests.browser.test_notebook import position, read

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/images/training.gif"
MOST_BYTES = 3_000_000
WIDTH, HEIGHT, COLOURS = 1240, 1170, 96
TRAINING = """for epoch in range(2000):
    for batch in np.random.permutation(1280).reshape(10, 128):
        params, mean, square, step = update(params, mean, square, step, train_images[batch], train_labels[batch])"""

Frame = tuple[bytes, int]


def main() -> None:
    """Write the picture, and say how large it is."""
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        server = LabServer(Path(home))
        server.wait_until_up()
        options = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        try:
            lab = Lab(server, browser)
            frames = list(filmed(prepared(lab)))
            lab.close()
        finally:
            browser.close()
            server.stop()
    write(frames)
    print(f"{PICTURE.relative_to(ROOT)}: {len(frames)} frames, {PICTURE.stat().st_size:,} bytes")


def prepared(lab: Lab, loop: str = TRAINING) -> LabNotebook:
    """A notebook in which all has run that comes before training, whose cell it has."""
    cells = [read().cells[position(name)].source for name in ("%load_ext", "def init_network", "load_digits")]
    update = read().cells[position("def update")].source.split("\n%explore")[0]
    before = nbformat.v4.new_code_cell("\n".join([cells[0].split("\ndef height")[0], *cells[1:], update]))
    training = nbformat.v4.new_code_cell(loop)
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    path = lab.server.root / "training.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[before, training], metadata=kernel), path)
    notebook = lab.open(path)
    notebook.page.set_viewport_size({"width": WIDTH, "height": HEIGHT + 140})
    notebook.run_cell(0)
    notebook.wait_idle()
    return notebook


def filmed(notebook: LabNotebook) -> Iterator[Frame]:
    """Pixels, and for how many milliseconds they are shown."""
    cell = notebook.cell(1)
    at_top(notebook, cell)
    yield pixels(notebook, cell), 900
    notebook.run_cell(1)
    output = notebook.cell_output(1)
    output.locator(".xs-strip").wait_for()
    at_top(notebook, cell)
    yield from each(notebook, cell, frames=11, every=250)
    output.locator(".xs-open").click()
    output.locator(".xs-node").first.wait_for()
    at_top(notebook, cell)
    yield from each(notebook, cell, frames=10, every=300)
    output.locator(".xs-node.pass-forward").filter(has_text="tanh").first.click()
    yield from each(notebook, cell, frames=10, every=300)
    output.locator(".xs-node.pass-backward").filter(has_text="dot").first.click()
    yield from each(notebook, cell, frames=10, every=300)
    yield pixels(notebook, cell), 2500
    notebook.interrupt()
    notebook.wait_idle()


def at_top(notebook: LabNotebook, cell: Locator) -> None:
    """Scroll so that the cell begins at the top of the window."""
    cell.evaluate("element => element.scrollIntoView({block: 'start'})")
    notebook.page.wait_for_timeout(200)


def each(notebook: LabNotebook, cell: Locator, frames: int, every: int) -> Iterator[Frame]:
    """So many pictures, one after the other."""
    for _ in range(frames):
        notebook.page.wait_for_timeout(every)
        yield pixels(notebook, cell), every


def pixels(notebook: LabNotebook, cell: Locator) -> bytes:
    """What the cell looks like now."""
    box = cell.bounding_box()
    assert box is not None
    clip = {"x": box["x"], "y": box["y"], "width": box["width"], "height": HEIGHT}
    return notebook.page.screenshot(clip=clip)  # type: ignore[arg-type]


def write(frames: list[Frame]) -> None:
    """As one file, with one palette for all of it, so that what stands still costs nothing."""
    images = [Image.open(io.BytesIO(data)).convert("RGB") for data, _ in frames]
    palette = images[-1].quantize(COLOURS)
    reduced = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    times = [time for _, time in frames]
    reduced[0].save(PICTURE, save_all=True, append_images=reduced[1:], duration=times, loop=0, optimize=True)
    assert PICTURE.stat().st_size <= MOST_BYTES, "fewer frames, or fewer colours"


if __name__ == "__main__":
    main()
