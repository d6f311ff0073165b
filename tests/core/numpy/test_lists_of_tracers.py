"""``array`` of lists in which tracers and Python numbers meet: dtypes and values as in jax, and numbers as literals."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp

#: What makes a list of a traced vector; the vector's dtype; the result, its dtype, whether that is weak.
LISTS = {
    "rows": (lambda v: [[0.0, -v[2]], [v[2], 1]], "float32", [[0, -3], [3, 1]], "float32", False),
    "a row of numbers": (lambda v: [[v[0], v[1]], [0.0, 1.0]], "float16", [[1, 2], [0, 1]], "float16", False),
    "three axes": (lambda v: [[[v[0]], [1]], [[2], [3]]], "float32", [[[1], [1]], [[2], [3]]], "float32", False),
    "a float to an integer": (lambda v: [v[0], 1.5], "int32", [1, 1.5], "float32", False),
    "a bool to a float": (lambda v: [v[0], True], "float32", [1, 1], "float32", False),
    "bools to an integer": (lambda v: [[v[0], 2], [True, False]], "int32", [[1, 2], [1, 0]], "int32", False),
    "a complex number": (lambda v: [v[0], 1j], "float32", [1, 1j], "complex64", False),
    "a wide integer to a float": (lambda v: [v[0], 2**40], "float32", [1, 2**40], "float32", False),
    "a NumPy row": (lambda v: [v, np.zeros(3)], "float16", [[1, 2, 3], [0, 0, 0]], "float32", False),
    "an empty row": (lambda v: [v[:0], []], "float32", [[], []], "float32", False),
}


@pytest.mark.parametrize("case", LISTS)
def test_a_list_has_the_dtype_that_all_its_elements_have_in_common(case: str) -> None:
    make, dtype, expected, result, weak = LISTS[case]
    found = xs.jit(lambda v: jnp.array(make(v)))(np.arange(1, 4).astype(dtype))
    np.testing.assert_array_equal(np.asarray(found), np.array(expected, result))
    assert (found.dtype, found.aval.weak_type) == (result, weak)


def test_a_list_of_weak_scalars_is_not_weak() -> None:
    found = xs.jit(lambda s: jnp.array([s, 2]))(1.5)
    assert (found.dtype, found.aval.weak_type) == ("float32", False)


REFUSED = {
    "NaN as an integer": (ValueError, lambda v: jnp.array([v[0], float("nan")], dtype=int)),
    "a complex number as a float": (TypeError, lambda v: jnp.array([v[0], 1j], dtype="float32")),
    "an integer that is too wide": (OverflowError, lambda v: jnp.array([v[0], 2**40])),
    "an integer of another row that is too wide": (OverflowError, lambda v: jnp.array([[v[0]], [2**40]])),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_number_that_the_dtype_has_not_is_refused(case: str) -> None:
    error, make = REFUSED[case]
    with pytest.raises(error):
        xs.jit(make)(np.arange(3, dtype=np.int32))


def test_numbers_are_literals_of_the_program() -> None:
    """As constants they were arguments, which XLA cannot fold: 35 unrolled joints took 1.8 times jax's time."""
    closed = xs.make_jaxpr(lambda v: jnp.array([[0.0, v[0]], [v[1], 1.0], [0.0, 1.0]]))(np.ones(2, np.float32))
    assert not closed.consts
