"""Attention, pictures and initializers under every option, against jax."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import xlascope as xs

OPTIONS = Path(__file__).with_name("options.py")


@pytest.mark.parametrize("which", ["attention", "pictures", "initializers"])
def test_every_option_gives_what_jax_gives(which, jax_says, programs):
    expected, found = jax_says(OPTIONS, which), getattr(programs(OPTIONS), which)(xs)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        ours = found[name]
        assert (ours.shape, ours.dtype) == (value.shape, value.dtype), name
        narrow = "bfloat16" in name
        exact = "complex128" if value.dtype.kind == "c" else "float64"
        scale = float(np.max(np.abs(value[np.isfinite(value)].astype(exact)), initial=0.0))
        near = 8 * float(ml_dtypes.finfo("bfloat16").eps) if narrow else 2e-5
        np.testing.assert_allclose(ours.astype(exact), value.astype(exact), rtol=near, atol=near * scale, err_msg=name)


def test_every_initializer_is_among_them(programs):
    made = {name.split()[0] for name in programs(OPTIONS).initializers(xs)}
    module = xs.nn.initializers
    own = {name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    assert {name for name in own if not name.startswith("_")} == made
