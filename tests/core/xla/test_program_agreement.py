"""Where programs of two processes differ: the file and line of an operation, from the module's text with locations."""

import pytest

from xlascope.xla.compilation.program_agreement import _location_at

PLAIN = ["module @step {", "  %0 = stablehlo.add %x, %x", "  return %0", "}"]
LOCATED = """#loc2 = loc(unknown)
module @step {
  %0 = stablehlo.add %x, %x loc(#loc1)
  return %0 loc(#loc2)
} loc(#loc2)
#loc1 = "train.py":12:4 to 12:9
"""


@pytest.mark.parametrize(("line", "expected"), [(0, ""), (1, ", at train.py:12"), (2, ""), (9, "")])
def test_the_location_of_a_line_is_found(line: int, expected: str) -> None:
    assert _location_at(LOCATED, PLAIN, line) == expected
