"""Convolutions that are written out for the CPU give what XLA's own give, and are written out where they should be."""

from typing import Any

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax
from xlascope.operations import convolution, convolution_on_cpu

NHWC, NCHW = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")

#: Shape of lhs and of the kernel, arguments; whether it is written out.
CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], bool]] = {
    "depthwise": ((2, 7, 6, 4), (3, 3, 1, 4), {"feature_group_count": 4}, True),
    "depthwise, channels first": (
        (2, 4, 7, 6),
        (4, 1, 3, 2),
        {"feature_group_count": 4, "dimension_numbers": NCHW},
        True,
    ),
    "depthwise, other layouts": (
        (7, 4, 6, 2),
        (4, 3, 2, 1),
        {"feature_group_count": 4, "dimension_numbers": ("HCWN", "OHWI", "CWNH")},
        True,
    ),
    "depthwise, strides": ((2, 9, 8, 4), (3, 3, 1, 4), {"feature_group_count": 4, "window_strides": (2, 3)}, True),
    "depthwise, holes in the kernel": (
        (2, 9, 8, 4),
        (3, 2, 1, 4),
        {"feature_group_count": 4, "rhs_dilation": (2, 3), "padding": ((1, 2), (0, 3))},
        True,
    ),
    "depthwise, holes in the image": (
        (2, 5, 4, 4),
        (3, 2, 1, 4),
        {"feature_group_count": 4, "lhs_dilation": (2, 3), "padding": ((1, 2), (-1, 3))},
        True,
    ),
    "depthwise, several results for each": ((2, 7, 6, 4), (3, 3, 1, 8), {"feature_group_count": 4}, False),
    "depthwise, a large kernel": ((1, 9, 9, 2), (8, 8, 1, 2), {"feature_group_count": 2}, False),
    "depthwise, one axis": (
        (2, 9, 4),
        (4, 1, 4),
        {
            "feature_group_count": 4,
            "window_strides": (1,),
            "padding": ((3, 0),),
            "dimension_numbers": ("NWC", "WIO", "NWC"),
        },
        True,
    ),
    "depthwise, 16 features": ((2, 7, 6, 16), (3, 2, 1, 16), {"feature_group_count": 16}, True),
    "depthwise, 16 features, strides": (
        (2, 16, 9, 8),
        (16, 1, 3, 2),
        {"feature_group_count": 16, "window_strides": (2, 3), "rhs_dilation": (1, 2), "dimension_numbers": NCHW},
        True,
    ),
    "depthwise, 16 features, holes in the image": (
        (2, 4, 3, 16),
        (3, 2, 1, 16),
        {"feature_group_count": 16, "lhs_dilation": (2, 3), "padding": ((1, 2), (0, 3))},
        True,
    ),
    "one feature": ((2, 7, 6, 1), (3, 3, 1, 5), {}, True),
    "one feature, a large kernel": ((2, 7, 6, 1), (5, 5, 1, 5), {}, False),
    "groups": ((2, 7, 6, 8), (3, 3, 2, 12), {"feature_group_count": 4}, True),
    "groups, channels first": (
        (2, 8, 7, 6),
        (12, 2, 3, 3),
        {"feature_group_count": 4, "dimension_numbers": NCHW},
        True,
    ),
    "many groups": ((1, 5, 5, 80), (3, 3, 2, 80), {"feature_group_count": 40}, False),
    "groups of the batch": ((8, 7, 6, 3), (3, 3, 3, 8), {"batch_group_count": 4}, True),
    "dense": ((2, 7, 6, 4), (3, 3, 4, 5), {}, False),
    "no spatial axes": (
        (3, 4),
        (1, 4),
        {
            "feature_group_count": 4,
            "window_strides": (),
            "padding": (),
            "dimension_numbers": ("NC", "IO", "NC"),
        },
        False,
    ),
}


def convolve(x: Any, w: Any, given: dict[str, Any]) -> Any:
    rest = {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": NHWC} | given
    if "lhs_dilation" in given:
        rest.setdefault("padding", ((1, 1), (1, 1)))
    return lax.conv_general_dilated(x, w, **rest)


def operands(x: tuple[int, ...], w: tuple[int, ...], dtype: Any = np.float32) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.standard_normal(x).astype(dtype), random.standard_normal(w).astype(dtype)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_both_ways(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolution_on_cpu, "MIN_GROUP_PRODUCTS", 0)
    x_shape, w_shape, given, is_written = CONVOLUTIONS[name]
    x, w = operands(x_shape, w_shape)
    function = xs.jit(lambda x, w: convolve(x, w, given))
    found, text = np.asarray(function(x, w)), function.lower(x, w).as_text()
    group = "feature_group_count = 1" in text and "batch_group_count = 1" in text
    assert ("stablehlo.convolution" not in text or (group and ("groups" in name))) == is_written
    monkeypatch.setattr(convolution, "emit_convolution", lambda *_: None)
    wanted = xs.jit(lambda x, w: convolve(x, w, given))(x, w)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


#: Shape of lhs and of the kernel, arguments: groups of the batch, whose products are summed in a loop.
LOOPS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "one array and several kernels": ((4, 7, 6, 3), (3, 3, 3, 8), {"batch_group_count": 4}),
    "several of each": ((8, 7, 6, 1), (3, 2, 1, 12), {"batch_group_count": 4}),
    "two groups": ((6, 7, 6, 2), (3, 2, 2, 2), {"batch_group_count": 2}),
    "strides and holes": (
        (8, 9, 8, 2),
        (3, 3, 2, 12),
        {
            "batch_group_count": 4,
            "window_strides": (2, 3),
            "rhs_dilation": (2, 1),
            "lhs_dilation": (1, 2),
            "padding": ((2, -1), (0, 3)),
        },
    ),
    "other layouts": (
        (7, 2, 6, 8),
        (12, 3, 2, 2),
        {"batch_group_count": 4, "dimension_numbers": ("HCWN", "OHWI", "CWNH")},
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x_shape, w_shape, given = LOOPS[name]
    x, w = operands(x_shape, w_shape)
    function = xs.jit(lambda x, w: convolve(x, w, given))
    found = np.asarray(function(x, w))
    assert "stablehlo.convolution" not in function.lower(x, w).as_text()
    monkeypatch.setattr(convolution, "emit_convolution", lambda *_: None)
    np.testing.assert_allclose(found, xs.jit(lambda x, w: convolve(x, w, given))(x, w), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.complex64, np.int32, np.int8, np.uint8])
def test_loops_of_other_dtypes(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x_shape, w_shape, given = LOOPS["several of each"]
    x, w = ((9 * each).astype(np.int8).astype(dtype) for each in operands(x_shape, w_shape))
    function = xs.jit(lambda x, w: convolve(x, w, given))
    found = function(x, w)
    assert "stablehlo.convolution" not in function.lower(x, w).as_text()
    monkeypatch.setattr(convolution, "emit_convolution", lambda *_: None)
    wanted = xs.jit(lambda x, w: convolve(x, w, given))(x, w)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("size", [8, 64])
def test_small_groups_are_no_convolutions_of_their_own(size: int) -> None:
    """Each takes its time to compile; a small one is not faster."""
    x, w = operands((1, size, size, 64), (3, 3, 16, 64))
    text = xs.jit(lambda x, w: convolve(x, w, {"feature_group_count": 4})).lower(x, w).as_text()
    products = x.size * w[..., 0].size // 4
    assert ("feature_group_count = 4" in text) == (products < convolution_on_cpu.MIN_GROUP_PRODUCTS) == (size == 8)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
@pytest.mark.parametrize("name", ["depthwise", "groups", "groups of the batch"])
def test_dtypes(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with xs.enable_x64(True):
        x, w = operands(*CONVOLUTIONS[name][:2])
        rounded = [np.asarray(xs.numpy.asarray(each, dtype)) for each in (x, w)]
        found = xs.jit(lambda x, w: convolve(x, w, CONVOLUTIONS[name][2]))(*rounded)
        assert found.dtype == dtype
        monkeypatch.setattr(convolution, "emit_convolution", lambda *_: None)
        exact = [each.astype(np.float64) for each in rounded]
        wanted = np.asarray(xs.jit(lambda x, w: convolve(x, w, CONVOLUTIONS[name][2]))(*exact))
    bound = {"float64": 1e-12, "bfloat16": 2**-7, "float16": 2**-9}[dtype]
    np.testing.assert_allclose(np.asarray(found, np.float64), wanted, rtol=bound, atol=bound)


@pytest.mark.parametrize(
    "name",
    [
        "depthwise",
        "depthwise, strides",
        "depthwise, one axis",
        "depthwise, 16 features",
        "depthwise, 16 features, strides",
        "depthwise, 16 features, holes in the image",
        "one feature",
        "groups",
        "groups of the batch",
    ],
)
def test_derivatives_and_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Derivatives of grouped convolutions are grouped, and so is a convolution mapped over images and kernels."""
    x, w = operands(*CONVOLUTIONS[name][:2])

    def loss(x: Any, w: Any) -> Any:
        return xs.numpy.sum(xs.numpy.sin(convolve(x, w, CONVOLUTIONS[name][2])))

    def results() -> list[Any]:
        pairs = np.stack([x, 2 * x, x - 1]), np.stack([w, w + 1, 2 * w])
        return [*xs.jit(xs.grad(loss, (0, 1)))(x, w), *xs.jit(xs.vmap(xs.grad(loss, (0, 1))))(*pairs)]

    found = results()
    monkeypatch.setattr(convolution, "emit_convolution", lambda *_: None)
    for ours, wanted in zip(found, results(), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-4)


def test_the_derivative_by_a_depthwise_kernel_meets_no_two_features() -> None:
    """XLA computes each feature with each, and takes the diagonal."""
    x_shape, w_shape, given, _ = CONVOLUTIONS["depthwise, 16 features"]
    x, w = operands(x_shape, w_shape)
    gradient = xs.jit(xs.grad(lambda w: convolve(x, w, given).sum()))
    assert "stablehlo.convolution" not in gradient.lower(w).as_text()


def test_groups_do_not_meet() -> None:
    """An infinity in one group leaves the others alone."""
    x, w = operands((1, 4, 4, 4), (3, 3, 2, 4))
    x[..., 0] = np.inf
    found = np.asarray(xs.jit(lambda x, w: convolve(x, w, {"feature_group_count": 2}))(x, w))
    assert np.isfinite(found[..., 2:]).all() and not np.isfinite(found[..., :2]).any()
