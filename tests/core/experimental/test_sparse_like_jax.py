"""experimental.sparse gives what jax's gives: values, gradients, mapped, in one compiled program each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.core.experimental import sparse_programs

import xlascope as xs

PROGRAMS = Path(__file__).with_name("sparse_programs.py")


@pytest.mark.slow
def test_programs_give_what_jax_gives(jax_says: Callable[..., dict[str, Any]]) -> None:
    wanted, found = jax_says(PROGRAMS, "every"), sparse_programs.every(xs)
    assert found.keys() == wanted.keys()
    for name, arrays in found.items():
        assert [(x.shape, x.dtype) for x in arrays] == [(y.shape, y.dtype) for y in wanted[name]], name
        for mine, other in zip(arrays, wanted[name], strict=True):
            size = float(np.abs(other).max(initial=0.0))
            np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5 * size, err_msg=name)
