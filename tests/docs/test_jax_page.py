"""What the page on programs of jax shows of libraries that only the slow tests have: its `notest` blocks, run there."""

from pathlib import Path

import pytest
from tests.jax.libraries import need_libraries

from .test_pages import ROOT, run_apart

PAGE = ROOT / "docs/watch_your_jax_program.md"


@pytest.mark.slow
def test_what_the_page_shows_of_libraries(tmp_path: Path) -> None:
    need_libraries()
    whole = tmp_path / PAGE.name
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("```python notest") == 5
    whole.write_text(text.replace("```python notest", "```python"), encoding="utf-8")
    run_apart(whole, {"JAX_PLATFORMS": "cpu"}, tmp_path)
    assert all((tmp_path / f"{name}.html").exists() for name in ("training", "equinox", "numpyro"))
