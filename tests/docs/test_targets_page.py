"""What the page on targets shows of compilers that not everybody has: its `notest` blocks, run where they are."""

from pathlib import Path

import pytest
from tests.changes_of_jax import made

from .test_pages import ROOT, SYBIL

PAGE = ROOT / "docs/targets.md"
#: What the compilers of a newer jaxlib make otherwise: two kernels multiply by a number, which was folded.
NEWER = {
    "5   535 kB   288 kB": "6   545 kB   288 kB",
    "dot_general tanh mul broadcast_in_dim transpose": "dot_general tanh mul mul broadcast_in_dim transpose",
    "3  10.2 kB   288 kB": "4  20.5 kB   288 kB",
    "  mul broadcast_in_dim dot_general": "  mul mul broadcast_in_dim dot_general",
    "14 of 20  3.18 MB  5.75 MB": "15 of 20   3.2 MB  5.75 MB",
    "15 of 20  2.13 MB  3.57 MB": "16 of 20  2.15 MB  3.57 MB",
    "71,522,816": "71,525,376",
}


@pytest.mark.usefixtures("target_compilers")
def test_what_the_page_shows_of_targets(tmp_path: Path) -> None:
    whole = tmp_path / "targets.md"
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("```python notest") == 3
    for older, newer in NEWER.items() if made("kernels of targets") else ():
        assert older in text
        text = text.replace(older, newer)
    whole.write_text(text.replace("```python notest", "```python"), encoding="utf-8")
    for example in SYBIL.parse(whole).examples():
        example.evaluate()
