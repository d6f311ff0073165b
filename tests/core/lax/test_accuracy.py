"""A function that takes ``accuracy`` asks XLA for it, and leaves it open where none is given."""

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax

FUNCTIONS = ["exp", "exp2", "expm1", "log", "log1p", "logistic", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan", "tanh"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_program_says_how_accurate_a_result_has_to_be(name):
    function = getattr(lax, name)

    def asked(accuracy):
        return xs.jit(lambda x: function(x, accuracy=accuracy)).lower(np.float32(0.5)).as_text()

    assert "result_accuracy_mode<HIGHEST>" in asked(lax.AccuracyMode.HIGHEST)
    assert "rtol = 1.000000e-02" in asked(lax.Tolerance(rtol=0.01))
    assert "accuracy" not in asked(None)
