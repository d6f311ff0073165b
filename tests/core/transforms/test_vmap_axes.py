"""in_axes, out_axes and axis_size: what jax takes is taken, and what is not says what is wrong."""

from pathlib import Path

import numpy as np
import pytest

import xlascope as xs

PROGRAMS = Path(__file__).with_name("vmap_axes.py")


def names():
    namespace = {"__name__": "vmap_axes"}
    exec(compile(PROGRAMS.read_text(), str(PROGRAMS), "exec"), namespace)
    return list(namespace["ROWS"])


@pytest.fixture(scope="module")
def module(programs):
    return programs(PROGRAMS)


@pytest.fixture(scope="module")
def box(module):
    return module.registered(xs)


@pytest.fixture(scope="module")
def expected(jax_says):
    return jax_says(PROGRAMS, "every")


@pytest.mark.parametrize("name", names())
def test_what_jax_gives(name, module, box, expected):
    found, wanted = module.outcome(xs, name, box), expected[name]
    if isinstance(wanted, str) or isinstance(found, str):
        assert found == wanted
        return
    assert found[0] == wanted[0]
    for x, y in zip(found[1:], wanted[1:], strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("out of bounds", ["a has shape (3, 4) and has no axis 2", "Choose one from 0 to 1"]),
        ("of a scalar", ["a is a scalar and has no axis 0"]),
        ("a scalar keyword", ["k is a scalar and has no axis 0", "give it by position"]),
        ("a string", ["argument a", "'s'"]),
        ("too few", ["vmap of add", "in_axes has 1 entry, but add gets 2 arguments, a and b"]),
        ("a float for axes", ["in_axes holds 0.0", "integers or None"]),
        ("a float", ["in_axes is an integer, None, or a tuple with an entry for each argument, got 0.0"]),
        ("a dict for all", ["in_axes is an integer", "{'k': 1}"]),
        ("a dict with another key", ["in_axes ({'j': 1},)", "prefix", "({'k': *},)"]),
        ("a tuple of another length", ["in_axes (0, (0, 0))", "(*, (*,))"]),
        ("sizes that differ", ["vmap of add", "different sizes: a: 3, b: 4"]),
        ("sizes that differ in a tree", ["t['p']: 3, t['q']: 3, x: 4"]),
        ("another axis_size", ["a: 3, axis_size: 4"]),
        ("no arguments", ["at least one mapped argument, or an axis_size"]),
        ("None for all", ["at least one mapped argument, or an axis_size"]),
        ("out out of bounds", ["out_axes puts the mapped axis at 2 of a result of 2 axes"]),
        ("out None", ["out_axes is None for a result that differs from example to example"]),
        ("out another key", ["out_axes {'b': 1}", "{'a': *}"]),
        ("out too short", ["out_axes (0,)", "(*, *)"]),
        ("out a string", ["out_axes holds 'x'"]),
        ("a result that is a string", ["<lambda> returns a value of type str as result ('s')"]),
        ("no function", ["vmap takes a function, got 3 of type int"]),
    ],
)
def test_an_error_says_what_and_where(name, texts, module, box):
    with pytest.raises((TypeError, ValueError)) as caught:
        module.ROWS[name](xs, box)
    for text in texts:
        assert text in str(caught.value)
