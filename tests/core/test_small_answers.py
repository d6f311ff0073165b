"""What small functions give on either side of a choice: changes of these that nothing else noticed."""

from types import SimpleNamespace

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.inspect.compiler import why_text
from xlascope.operations.dot_algorithms import preset_of_algorithm
from xlascope.records import FusionDecision
from xlascope.test_util import check_grads


@pytest.mark.parametrize(
    ("value", "shape"),
    [([[1, 2, 3]], (1, 3)), (2.0, ()), (np.ones((2, 0)), (2, 0)), (SimpleNamespace(shape=(4, 5)), (4, 5))],
)
def test_shapes(value, shape):
    assert jnp.shape(value) == shape


@pytest.mark.parametrize(("given", "fits"), [(None, True), ((2, 3), True), ([2, 3], True), ((3, 2), False)])
def test_the_data_of_the_only_process_are_the_whole(given, fits):
    device, data = xs.devices()[0], np.ones((2, 3), np.float32)
    if fits:
        assert xs.make_array_from_process_local_data(device, data, given).shape == (2, 3)
    else:
        with pytest.raises(ValueError, match=r"have shape \(2, 3\), and global_shape is \(3, 2\)"):
            xs.make_array_from_process_local_data(device, data, given)


@xs.custom_jvp
def wrong(x):
    return x * x


wrong.defjvp(lambda primals, tangents: (wrong(*primals), 3 * primals[0] * tangents[0]))


@pytest.mark.parametrize(("function", "order", "found"), [(wrong, 1, True), (jnp.sin, 2, False), (wrong, 0, False)])
def test_gradients_are_checked_up_to_their_order(function, order, found):
    if not found:
        return check_grads(function, (2.0,), order)
    with pytest.raises(AssertionError):
        check_grads(function, (2.0,), order)


@pytest.mark.parametrize("fast", [True, False])
def test_products_of_eight_bits(fast):
    given = lax.DotAlgorithm("float8_e4m3fn", "float8_e5m2", "float32", 1, 1, 1, fast)
    name = "ANY_F8_ANY_F8_F32_FAST_ACCUM" if fast else "ANY_F8_ANY_F8_F32"
    assert preset_of_algorithm(given) is lax.DotAlgorithmPreset[name]


@pytest.mark.parametrize(("fused", "apart", "told"), [(1e-6, 2e-6, True), (1e-6, None, False), (None, 1e-6, False)])
def test_estimates_are_told_where_there_are_both(fused, apart, told):
    decision = FusionDecision(0, "fusion", "a", "b", "refused", "", "", "", fused_seconds=fused, unfused_seconds=apart)
    assert bool(why_text._times(decision)) == told


def test_the_first_name_that_is_no_argument_is_told():
    with pytest.raises(ValueError, match="static_argnames names 'size'"):
        xs.jit(lambda x: x, static_argnames=("size", "width"))
