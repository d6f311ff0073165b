"""The extreme of elements one of which is NaN is NaN, of many elements as well; over devices: `tests/core/parallel`."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.settings import setting

from . import faulty_programs


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_no_reduction_leaves_nan_out(dtype, sign):
    with setting("enable_x64", True):
        assert faulty_programs.nan_left_out(dtype, sign) == []


#: Elements without NaN, and their maximum and minimum: also where the sum of squares is infinite or 0.
EXTREMES = {
    "infinite": ([np.inf, -np.inf], np.inf, -np.inf),
    "large": ([3e38, -3e38], 3e38, -3e38),
    "small": ([1e-30, -1e-30], 1e-30, -1e-30),
    "equal": ([-np.inf], -np.inf, -np.inf),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_numbers_keep_their_extremes(name):
    values, largest, smallest = EXTREMES[name]
    x = np.resize(np.array(values, np.float32), 10_000)
    assert np.asarray(xs.jit(jnp.max)(x)) == np.float32(largest)
    assert np.asarray(xs.jit(jnp.min)(x)) == np.float32(smallest)


def test_a_softmax_has_one_reduction_for_its_maximum():
    def count_reductions(function):
        return str(xs.jit(function).lower(jnp.ones((100, 100))).as_text()).count("stablehlo.reduce(")

    assert count_reductions(xs.nn.softmax) == 2
    assert count_reductions(xs.vmap(xs.nn.logsumexp)) == 2
    assert count_reductions(lambda x: jnp.max(x, 1)) == 2
    assert count_reductions(lambda x: jnp.max(x[:40], 1)) == 1  # few elements
