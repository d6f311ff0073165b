"""Values of options on the line of `%whatif`."""

from typing import Any

import pytest

from xlascope_ipython.what_if import _parse_literal


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("0.5", 0.5), ("true", True), ("False", False), ("fast math", "fast math"), ("a-b", "a-b")],
)
def test_a_value_is_read_as_python_or_text(text: str, value: Any) -> None:
    assert _parse_literal(text) == value
