"""Mesh axes of axes that a reshape merges: the parts of the result have to be contiguous."""

from typing import Any

import pytest

from xlascope.operations.sharding_rules import _merged_mesh_axes

SIZES = {"x": 2, "y": 3}


@pytest.mark.parametrize(
    ("axes", "merged"),
    [
        ([(4, ()), (3, ())], ()),
        ([(4, ("x",)), (3, ())], ("x",)),
        ([(2, ("x",)), (3, ("y",))], ("x", "y")),
        ([(6, ("x", "y")), (3, ())], ("x", "y")),
        ([(2, ("x",)), (6, ("y",)), (5, ())], ("x", "y")),
        ([(4, ("x",)), (3, ("y",))], None),  # each half of the first axis would be split again
        ([(4, ()), (3, ("y",))], None),
        ([(2, ("x",)), (6, ()), (3, ("y",))], None),
    ],
)
def test_parts_of_merged_axes(axes: list[tuple[int, tuple[str, ...]]], merged: Any) -> None:
    assert _merged_mesh_axes(axes, SIZES) == merged
