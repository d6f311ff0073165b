"""Control flow over arrays without elements: XLA ends the process over some conditions that call functions of them."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax

NOTHING = np.ones(0, np.int32)
PROGRAMS = {
    "a condition": lambda x: lax.while_loop(lambda c: jnp.any(c != 0), lambda c: c + 1, x),
    "a condition that calls": lambda x: lax.while_loop(xs.jit(lambda c: xs.jit(jnp.any)(c != 0)), lambda c: c, x),
    "two": lambda x: lax.while_loop(lambda c: jnp.any(c[1] != 0), lambda c: c[::-1], (x, x))[0],
    "with a number": lambda x: lax.while_loop(lambda c: jnp.any(c[1] != 0), lambda c: (c[0] + 1, c[1]), (0, x))[1],
    "mapped": lambda x: xs.vmap(lambda v: lax.while_loop(lambda c: c < 3, lambda c: c + 1, v))(x),
    "a loop in a condition": lambda x: lax.while_loop(
        lambda c: jnp.any(lax.while_loop(lambda d: jnp.all(d > 3), lambda d: d + 1, c) > 5), lambda c: c, x[:0]
    ),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c + i, x),
    "scan": lambda x: lax.scan(lambda c, y: (c + 1, y), x, jnp.ones((3, 0)))[0],
    "scan of nothing": lambda x: lax.scan(lambda c, y: (c + 1, y), x, jnp.ones((0, 3)))[0],
    "cond": lambda x: lax.cond(jnp.any(x > 0), lambda c: c, lambda c: c + 1, x),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_comes_out(program):
    for f in (PROGRAMS[program], xs.jit(PROGRAMS[program])):
        assert f(NOTHING).shape == (0,)


def test_the_equations_of_a_condition_have_their_paths():
    lowered = xs.jit(PROGRAMS["a condition"]).lower(NOTHING)
    assert "/b1/e0" in lowered.as_text(debug_info=True)
