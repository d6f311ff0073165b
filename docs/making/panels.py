"""Panels that stand in pages and answer clicks: made by the programs below, while the site is made.

A page says where one stands by a comment that is shown nowhere else: ``<!-- panel: fused -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np
from notebooks.making.address import ROOT

from xlascope import inspect, records
from xlascope_widgets.export.files import save

from . import programs

#: Where they are, from the site's root.
FOLDER = "_static/panels"
_PLACE = re.compile(r"<!-- panel: (\w+) -->")


def _step() -> Sequence[records.Record]:
    """One step of training, measured."""
    rng = np.random.default_rng(0)
    params = [np.float32(rng.normal(0, 0.1, shape)) for shape in ((64, 512), (512, 10))]
    images, labels = np.float32(rng.uniform(size=(512, 64))), rng.integers(0, 10, 512)
    return inspect.timings(programs.update, params, images, labels).records


def _fused() -> Sequence[records.Record]:
    """The program that the page on fusion asks about, with XLA's reasons."""
    operands = np.ones((64, 32), np.float32), np.ones((32, 16), np.float32)
    found = inspect.fusions(programs.layer, *operands), inspect.why(programs.layer, *operands)
    return [record for each in found for record in each.records]


PROGRAMS: dict[str, tuple[Callable[[], Sequence[records.Record]], str]] = {
    "step": (_step, "A training step: click an equation, a line of source, a kernel or a bar of the timeline"),
    "fused": (_fused, "That program: click an edge of the graph for the reason why the two were fused, or not"),
}


def make(folder: Path) -> Iterator[Path]:
    """Write each panel as a page of its own."""
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    for name, (program, _) in PROGRAMS.items():
        path = folder / FOLDER / f"{name}.html"
        save(program(), path)
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f"{ROOT}/", ""), encoding="utf-8")  # where the repository lies concerns nobody
        yield path


def shown(text: str, up: str) -> str:
    """A page with its panels, in frames of their own."""
    return _PLACE.sub(lambda found: _frame(found[1], up), text)


def _frame(name: str, up: str) -> str:
    title = escape(PROGRAMS[name][1], quote=True)
    return (
        f'<figure class="panel"><iframe src="{up}{FOLDER}/{name}.html" title="{title}" loading="lazy" '
        f'sandbox="allow-scripts"></iframe><figcaption>{title}. '
        f'<a href="{up}{FOLDER}/{name}.html">Alone</a></figcaption></figure>'
    )
