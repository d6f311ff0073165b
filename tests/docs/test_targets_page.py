"""What the page on targets shows of compilers that not everybody has: its `notest` blocks, run where they are."""

from pathlib import Path

import pytest

from .test_pages import ROOT, SYBIL

PAGE = ROOT / "docs/targets.md"


@pytest.mark.usefixtures("target_compilers")
def test_what_the_page_shows_of_targets(tmp_path: Path) -> None:
    whole = tmp_path / "targets.md"
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("```python notest") == 3
    whole.write_text(text.replace("```python notest", "```python"), encoding="utf-8")
    for example in SYBIL.parse(whole).examples():
        example.evaluate()
