"""``linspace`` with ``dtype=``: values and the step are computed in it, as jax 0.10.2 does, not in that of the ends."""

from typing import Any

import numpy as np
import pytest

import xlascope.numpy as jnp

#: The dtype in which values of a requested dtype are computed.
COMPUTED = {
    "float16": "float16", "bfloat16": "bfloat16", "float32": "float32", "complex64": "complex64",
    "int32": "float32", "uint8": "float32", "bool": "float32",
}  # fmt: skip
ENDS = {
    "float16": (jnp.float16(0.1), jnp.float16(1)),
    "bfloat16": (jnp.bfloat16(0.1), 7),
    "Python": (0.1, 1.0),
    "integers": (0, 7),
    "booleans": (False, True),
    "arrays": (jnp.array([0.1, 0.3], "float16"), 1.0),
}


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("dtype", COMPUTED)
def test_values_are_computed_in_the_requested_dtype(dtype: str, ends: Any, endpoint: bool) -> None:
    start, stop = ENDS[ends]
    values, step = jnp.linspace(start, stop, 6, endpoint=endpoint, retstep=True, dtype=dtype)
    same = [jnp.asarray(x).astype(COMPUTED[dtype]) for x in ENDS[ends]]
    expected, expected_step = jnp.linspace(*same, 6, endpoint=endpoint, retstep=True)
    expected = jnp.floor(expected) if dtype in ("int32", "uint8") else expected
    assert (str(values.dtype), str(step.dtype)) == (dtype, COMPUTED[dtype])
    rtol = 2 * float(jnp.finfo(COMPUTED[dtype]).eps)  # of two programs, which may round differently
    pairs = [(values, expected.astype(dtype)), (step, expected_step)]
    for result, reference in pairs:
        np.testing.assert_allclose(*(np.asarray(x).astype(np.complex64) for x in (result, reference)), rtol=rtol)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
def test_complex_ends_of_real_values_lose_their_imaginary_parts(dtype: str) -> None:
    values, step = jnp.linspace(0, 5 + 5j, 6, retstep=True, dtype=dtype)
    assert values.tolist() == [0, 1, 2, 3, 4, 5] and (step.tolist(), str(step.dtype)) == (1.0, COMPUTED[dtype])
