"""The site that `make docs` makes: what is in it, what becomes of links, and how the reference is written."""

import re
from typing import Any

import numpy as np
import pytest
from docs.making import contents, layout, panels, reference
from docs.making.signatures import signature
from notebooks.making import address

import xlascope.numpy as jnp
from xlascope import lax

DOCS = address.ROOT / "docs"
REPOSITORY = address.repository()

LINKS = {
    "a page beside it": ("[x](panel.md)", "[x](panel.md)"),
    "a place in a page": ("[x](panel.md#the-switch)", "[x](panel.md#the-switch)"),
    "a page elsewhere": ("[x](../bench/RESULTS.md)", "[x](../bench/RESULTS.md)"),
    "the front page": ("[x](../README.md#start)", "[x](../index.md#start)"),
    "the list of pages": ("[x](index.md)", "[x](../index.md)"),
    "a picture": ("![x](images/panel.png)", "![x](images/panel.png)"),
    "a program": ("[x](../bench/kept.py)", f"[x]({REPOSITORY}/blob/main/bench/kept.py)"),
    "a folder": ("[x](../bench)", f"[x]({REPOSITORY}/tree/main/bench)"),
    "another site": ("[x](https://example.org/a.md)", "[x](https://example.org/a.md)"),
}


@pytest.mark.parametrize("text, expected", LINKS.values(), ids=LINKS)
def test_links_lead_to_pages_or_to_the_repository(text: str, expected: str) -> None:
    assert layout._linked(text, DOCS / "errors.md") == expected


def test_every_page_is_in_it_once() -> None:
    pages = contents.pages()
    assert len(pages) == len(set(pages))
    assert {*DOCS.rglob("*.md"), *address.notebook_files()} - {DOCS / "index.md"} <= set(pages)


def test_a_panel_stands_where_a_page_says() -> None:
    text = panels.shown("Before.\n\n<!-- panel: fused -->\n\nBehind.", "../")
    assert 'src="../_static/panels/fused.html"' in text and 'sandbox="allow-scripts"' in text
    assert panels.shown("<!-- with jax -->", "") == "<!-- with jax -->"


def test_every_panel_stands_in_a_page() -> None:
    texts = [path.read_text(encoding="utf-8") for path in [*contents.pages(), address.ROOT / contents.FRONT]]
    placed = {name for text in texts for name in re.findall(r"<!-- panel: (\w+) -->", text)}
    assert placed == set(panels.PROGRAMS)


def annotated(x: Any, axis: "int | None" = None, *, mode: "np.random.Generator | str" = "fast") -> "tuple[Any, int]":
    """For the table below."""


SIGNATURES = {
    "types that say something": (
        annotated,
        "(x, axis: int | None = None, *, mode: Generator | str = 'fast') -> tuple[Any, int]",
    ),
    "a function of numpy's": (jnp.sin, "(x, /)"),
    "an enumeration": (lax.AccuracyMode, ""),
    "what Python knows no signature of": (dict, "(...)"),
}


@pytest.mark.parametrize("value, expected", SIGNATURES.values(), ids=SIGNATURES)
def test_calls_are_written_as_they_are_made(value: Any, expected: str) -> None:
    assert signature(value) == expected


def with_signs(x: Any) -> None:
    """|x| and x * y_ of ``a|b``, see :func:`other_`.

    >>> 2 * 3 | 1
    7

    Then x_ again.
    """


def test_a_docstring_means_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(with_signs, "__module__", "xlascope.numpy.sums")
    lines = list(reference._written(with_signs))
    assert lines[0] == r"\|x\| and x \* y\_ of ``a|b``, see :func:`other_`."
    assert ">>> 2 * 3 | 1" in lines and lines[-1] == r"Then x\_ again."


def test_what_others_have_written_is_named_and_cut() -> None:
    lines = list(reference._written(np.finfo))
    assert lines[-1] == "As it is in numpy." and len(lines) < 6


def test_names_of_jax_that_are_left_out_are_told_with_the_way_out() -> None:
    page = reference.page("xlascope.lax")
    assert "| `psend` |" in page and "use lax.ppermute" in page and ".. py:function:: add(x, y)" in page
