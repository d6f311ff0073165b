"""Functions of lax that take an axis refuse one that the operand does not have."""

from collections.abc import Callable
from typing import Any

import pytest

from xlascope import lax
from xlascope import numpy as jnp

ALONG: dict[str, Callable[[Any, Any], Any]] = {
    "dynamic_index_in_dim": lambda x, axis: lax.dynamic_index_in_dim(x, 0, axis),
    "dynamic_slice_in_dim": lambda x, axis: lax.dynamic_slice_in_dim(x, 0, 1, axis),
    "dynamic_update_index_in_dim": lambda x, axis: lax.dynamic_update_index_in_dim(x, x[0], 0, axis),
    "dynamic_update_slice_in_dim": lambda x, axis: lax.dynamic_update_slice_in_dim(x, x[:1], 0, axis),
    "index_in_dim": lambda x, axis: lax.index_in_dim(x, 0, axis),
    "slice_in_dim": lambda x, axis: lax.slice_in_dim(x, 0, 1, axis=axis),
}


@pytest.mark.parametrize("along", ALONG.values(), ids=ALONG)
def test_an_axis_that_is_none_is_refused(along: Callable[[Any, Any], Any]) -> None:
    x = jnp.arange(3.0)
    for axis in (1, 2, -2):
        with pytest.raises(ValueError, match="out of bounds"):
            along(x, axis)
    with pytest.raises(TypeError, match=r"axis( of index_in_dim| of slice_in_dim)? is an integer"):
        along(x, "0")
    along(x, -1)
