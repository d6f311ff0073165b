"""Products of numbers of few bits: how they are rounded, by NumPy and ml_dtypes, and what becomes of gradients."""

import ml_dtypes
import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, nn

NUMBERS = (((2,), (2,)), ((0,), (0,)))
CONFIGS = {
    "mxfp8": nn.get_scaled_dot_general_config("mxfp8"),
    "nvfp4": nn.get_scaled_dot_general_config("nvfp4"),
    "nvfp4 of halves": nn.get_scaled_dot_general_config("nvfp4", np.array([0.5], np.float32)),
}


def _rounded(x, config):
    """What the narrow numbers and their scales stand for."""
    whole = 1 if config.global_scale is None else config.global_scale
    blocks = (x / whole).reshape(*x.shape[:-1], -1, config.block_size)
    most = float(ml_dtypes.finfo(config.data_type).max)
    wanted = np.abs(blocks).max(-1, keepdims=True) / most
    scales = (2.0 ** np.ceil(np.log2(wanted)) if config.mode == "mxfp8" else wanted).astype(config.scale_type)
    numbers = np.clip(blocks / scales.astype(np.float32), -most, most).astype(config.data_type)
    return (numbers.astype(np.float64) * scales.astype(np.float64)).reshape(x.shape) * whole


#: Numbers that are far from the middle between two of either format, whatever power of two they are multiplied by.
FAR = np.array([0.3, 0.6, 1.2, 1.7, 2.2, 2.8, 3.3, 4.4, 6.0], np.float32)


def _numbers(random, *shape):
    """Such numbers, in blocks of 16 whose largest is 6 times a power of two: scales are exact in all formats."""
    blocks = random.choice(np.concatenate([FAR, -FAR]), (*shape[:-1], shape[-1] // 16, 16))
    blocks[..., 3] = 6
    return (blocks * 2.0 ** random.integers(-2, 3, (*blocks.shape[:-1], 1))).reshape(shape).astype(np.float32)


@pytest.mark.parametrize("name", CONFIGS)
def test_operands_are_rounded_block_by_block(name):
    config, random = CONFIGS[name], np.random.default_rng(0)
    x, y = (_numbers(random, 2, 32, 64) for _ in range(2))
    narrow = [_rounded(each, config) for each in (x, y)]

    def f(x, y):
        return nn.scaled_dot_general(x, y, NUMBERS, configs=[config] * 3)

    found = xs.jit(f)(x, y)
    np.testing.assert_allclose(found, np.einsum("bmk,bnk->bmn", *narrow), rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(xs.vmap(lambda x, y: f(x[None], y[None])[0])(x, y), found, rtol=1e-4, atol=1e-2)
    # The gradient is that of the product without rounding, of rounded operands where the format is mxfp8.
    ct = _numbers(random, *found.shape)
    to_x, to_y = xs.vjp(f, x, y)[1](ct)
    kept = [np.swapaxes(_rounded(np.swapaxes(each, 1, 2), config), 1, 2) for each in (x, y)]
    kept = kept if name == "mxfp8" else [x, y]
    rows, columns = (ct, ct) if name != "mxfp8" else (_rounded(ct, config), _rounded(np.swapaxes(ct, 1, 2), config))
    columns = np.swapaxes(ct, 1, 2) if name != "mxfp8" else columns
    np.testing.assert_allclose(to_x, np.einsum("bmn,bnk->bmk", rows, kept[1]), rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(to_y, np.einsum("bnm,bmk->bnk", columns, kept[0]), rtol=1e-4, atol=1e-2)


def test_scales_are_multiplied_out():
    random = np.random.default_rng(1)
    x, y = (random.normal(size=(2, n, 6)).astype(np.float32) for n in (3, 4))
    s, t = (random.normal(size=(2, n, 2)).astype(np.float32) for n in (3, 4))
    wanted = np.einsum("bmk,bnk->bmn", x * np.repeat(s, 3, -1), y * np.repeat(t, 3, -1))
    np.testing.assert_allclose(nn.scaled_matmul(x, y, s, t), wanted, rtol=1e-5, atol=1e-5)
    assert nn.scaled_matmul(x, y, s, t, jnp.bfloat16).dtype == jnp.bfloat16
    np.testing.assert_array_equal(nn.scaled_dot_general(x, y, NUMBERS), lax.dot_general(x, y, NUMBERS))
    short = x[..., :5], y[..., :5], s, t
    for wrong in ((x[0], y, s, t), (x, y[:1], s, t), (x, y, s[:, :2], t), (x, y, s, t[..., :1]), short):
        with pytest.raises(ValueError, match="scaled_matmul takes"):
            nn.scaled_matmul(*wrong)
    with pytest.raises(ValueError, match="a multiple of 32 for mxfp8, got 6"):
        nn.scaled_dot_general(x, y, NUMBERS, configs=[CONFIGS["mxfp8"]] * 3)
    with pytest.raises(TypeError, match="preferred_element_type"):
        nn.scaled_dot_general(x, y, NUMBERS, np.int32, configs=[CONFIGS["mxfp8"]] * 3)
    with pytest.raises(ValueError, match="modes are"):
        nn.get_scaled_dot_general_config("mxfp4")
