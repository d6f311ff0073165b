"""Values and derivatives of functions of complex numbers are those that jax gives."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import oracle
from tests.changes_of_jax import made

import xlascope as xs

PROGRAMS = Path(__file__).with_name("complex_programs.py")
_SPEC = importlib.util.spec_from_file_location("complex_programs", PROGRAMS)
TABLE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(TABLE)


_ACOSH = "jax has the wrong sign where the real part is negative; ours is checked by differences below"
KNOWN = {} if made("derivative of acosh") else {"acosh, holomorphic": _ACOSH}
if not made("derivative of the complex sign"):
    KNOWN |= dict.fromkeys(("sign", "sign at zero"), "jax has none; ours is checked by differences below")


@pytest.fixture(scope="module")
def expected(jax_says) -> dict[str, Any]:
    return jax_says(PROGRAMS, "every")


@pytest.mark.parametrize("name", oracle.rows(TABLE.FUNCTIONS, KNOWN))
def test_values_and_derivatives_are_those_of_jax(name: str, expected: dict[str, Any]) -> None:
    wanted = expected[name]
    assert not isinstance(wanted, str), wanted
    found = TABLE.evaluate(xs, name)
    assert len(found) == len(wanted) >= 5
    for number, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), number
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6, err_msg=f"result {number}")


def test_the_derivative_of_acosh_has_the_sign_of_the_branch() -> None:
    z = np.array([-0.7 + 0.3j, 0.5 - 1.2j, 1.1 + 0.4j, -2 - 1j])
    step = 1e-6
    wanted = (np.arccosh(z + step) - np.arccosh(z - step)) / (2 * step)
    _, moved = xs.jvp(xs.lax.acosh, (z.astype(np.complex64),), (np.ones(4, np.complex64),))
    np.testing.assert_allclose(moved, wanted, rtol=1e-5)


def test_the_sign_of_a_complex_number_turns_with_it() -> None:
    z = np.array([-0.7 + 0.3j, 0.5 - 1.2j, 1.1 + 0.4j, -2j])
    t, step = np.array([1, 1j, 0.3 - 2j, 1]), 1e-6
    ahead, behind = z + step * t, z - step * t
    wanted = (ahead / np.abs(ahead) - behind / np.abs(behind)) / (2 * step)
    _, moved = xs.jvp(xs.lax.sign, (z.astype(np.complex64),), (t.astype(np.complex64),))
    np.testing.assert_allclose(moved, wanted, rtol=1e-5, atol=1e-6)
    length = xs.hessian(lambda v: xs.numpy.abs(v[0] + 1j * v[1]))(np.array([3.0, 4.0], np.float32))
    np.testing.assert_allclose(length, np.array([[16, -12], [-12, 9]]) / 125, rtol=1e-5)


def test_parts_of_an_array_are_properties() -> None:
    z = xs.numpy.array([1 + 2j, -3j])
    np.testing.assert_array_equal(z.real, [1, 0])
    np.testing.assert_array_equal(z.imag, [2, -3])
    np.testing.assert_array_equal(z.conj(), [1 - 2j, 3j])
    np.testing.assert_array_equal(xs.jit(lambda z: z.conjugate().imag)(z), [-2, 3])
    assert z.real.dtype == np.float32
