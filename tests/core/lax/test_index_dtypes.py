"""Indices of every integer dtype, by themselves and traced, at axes longer than the dtype can count."""

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax
from xlascope import numpy as jnp

ROWS = np.arange(300.0, dtype=np.float32).reshape(100, 3)
SQUARE = np.arange(100, dtype=np.float32)[:, None] + np.arange(300, dtype=np.float32)[None, :]
LONG = np.arange(1000.0, dtype=np.float32)
#: Functions of an index whose value is the number of the row that they find.
FINDING_ROWS = {
    "dynamic_slice_in_dim": lambda i: lax.dynamic_slice_in_dim(ROWS, i, 2)[0, 0] / 3,
    "dynamic_index_in_dim": lambda i: lax.dynamic_index_in_dim(ROWS, i, keepdims=False)[0] / 3,
    "dynamic_update_index_in_dim": lambda i: lax.dynamic_update_index_in_dim(LONG[:100] * 0, 1.0, i, 0) @ LONG[:100],
    "dynamic_slice": lambda i: lax.dynamic_slice(ROWS, (i, 0), (1, 3))[0, 0] / 3,
    "dynamic_slice of two dtypes": lambda i: lax.dynamic_slice(ROWS, (i, np.int32(0)), (1, 3))[0, 0] / 3,
    "dynamic_slice that counts in part": lambda i: (
        lax.dynamic_slice(ROWS, (i, np.int16(0)), (1, 3), allow_negative_indices=(True, False))[0, 0] / 3
    ),
    "brackets": lambda i: jnp.asarray(ROWS)[i, 0] / 3,
    "brackets of two dtypes": lambda i: jnp.asarray(SQUARE)[i, jnp.int32(299)] - 299,
    "beyond the dtype": lambda i: lax.dynamic_slice_in_dim(LONG[900:], i, 1)[0] - 900,
}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", FINDING_ROWS)
def test_an_index_may_have_any_integer_dtype(name, wide):
    function = FINDING_ROWS[name]
    with xs.enable_x64(wide):
        for dtype in ("int8", "uint8", "int16", "int32", "uint32", "int64"):
            index, row = (np.array(-2, dtype), 98) if dtype[0] == "i" else (np.array(5, dtype), 5)
            assert float(function(index)) == float(xs.jit(function)(index)) == row
            assert xs.vmap(function)(np.stack([index, index])).tolist() == [row, row]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32", "bool"])
def test_segments_are_counted_in_every_dtype(dtype):
    ids = np.array([0, 1, 1], dtype)
    assert xs.ops.segment_sum(np.ones(3, np.float32), ids).tolist() == [1.0, 2.0]
    assert xs.ops.segment_max(np.ones(0, np.float32), ids[:0]).tolist() == []
