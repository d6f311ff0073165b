"""Checks in compiled programs: what fails first is a result, whatever the program is put through."""

import re

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, nn
from xlascope.experimental import checkify

HERE = __file__


def logarithm(x):
    checkify.check(x > 0, "x is to be positive, got {x} of {}", 5, x=x)
    return jnp.log(x)


def loop(x):
    def step(total, v):
        checkify.check(v < 2, "v={v}", v=v)
        return total + v, total

    return lax.scan(step, 0.0, x)


def branch(x):
    def large(v):
        checkify.check(v < 5, "large: {}", v)
        return v

    def small(v):
        checkify.check(v > -5, "small")
        return v

    return lax.cond(x > 0, large, small, x)


def repeated(x):
    def goes_on(v):
        checkify.check(v < 100, "condition: {}", v)
        return v < 50

    def step(v):
        checkify.check(v != 8, "body: {}", v)
        return v * 2

    return lax.while_loop(goes_on, step, x)


def twice(x):
    checkify.check(x > 0, "first")
    checkify.check(x > 1, "second")
    return x


@xs.custom_jvp
def ruled(x):
    return logarithm(x)


@ruled.defjvp
def _ruled_jvp(primals, tangents):
    return ruled(*primals), 7.0 * tangents[0]


@xs.custom_vjp
def pulled(x):
    return logarithm(x)


pulled.defvjp(lambda x: (pulled(x), x), lambda x, ct: (7.0 * ct,))

NEGATIVE = "x is to be positive, got -1.0 of 5"
#: A function, an argument, and what its checks say of it.
USERS = [
    (logarithm, 1.0, None),
    (logarithm, -1.0, NEGATIVE),
    (xs.jit(logarithm), -1.0, NEGATIVE),
    (xs.jit(xs.jit(logarithm)), -1.0, NEGATIVE),
    (xs.checkpoint(logarithm), -1.0, NEGATIVE),
    (xs.grad(logarithm), -1.0, NEGATIVE),
    (xs.grad(xs.checkpoint(logarithm)), -1.0, NEGATIVE),
    (xs.vmap(logarithm), [2.0, -1.0, -3.0], NEGATIVE),
    (xs.vmap(xs.vmap(logarithm)), [[2.0, 3.0], [-1.0, -3.0]], NEGATIVE),
    (xs.grad(lambda x: xs.vmap(logarithm)(x).sum()), [2.0, -1.0], NEGATIVE),
    (ruled, -1.0, NEGATIVE),
    (pulled, -1.0, NEGATIVE),
    (xs.grad(ruled), 1.0, None),
    (xs.grad(pulled), -1.0, NEGATIVE),
    (loop, [0.0, 1.0], None),
    (loop, [0.0, 3.0, 1.0, 4.0], "v=3.0"),
    (xs.grad(lambda x: loop(x)[0]), [0.0, 3.0, 4.0], "v=3.0"),
    (lambda x: lax.fori_loop(0, 3, lambda i, v: logarithm(v), x), 2.0, "x is to be positive, got -0.36651"),
    (branch, 1.0, None),
    (branch, 7.0, "large: 7.0"),
    (branch, -7.0, "small"),
    (xs.vmap(branch), [1.0, 2.0], None),
    (repeated, 3.0, None),
    (repeated, 1.0, "body: 8.0"),
    (repeated, 200.0, "condition: 200.0"),
    (twice, -1.0, "first"),
    (twice, 0.5, "second"),
    (lambda x: loop(x)[0] + logarithm(x[0]), [-1.0, 1.0], NEGATIVE),
    (lambda x: logarithm(x[0]) + loop(x)[0], [1.0, 3.0], "v=3.0"),
    (lambda x: checkify.debug_check(x > 0, "debugged"), -1.0, "debugged"),
]


@pytest.mark.parametrize(("function", "argument", "said"), USERS)
def test_the_first_check_that_fails_is_told(function, argument, said):
    x = jnp.asarray(argument)
    error, result = checkify.checkify(function)(x)
    compiled, same = xs.jit(checkify.checkify(function))(x)
    assert error.get() == compiled.get()
    assert (error.get() or "").startswith(said or "") and (error.get() is None) == (said is None)
    assert said is None or error.get().endswith(" (`check` failed)")
    for one, other in zip(xs.tree.leaves(result), xs.tree.leaves(same), strict=True):
        np.testing.assert_array_equal(one, other)


def test_results_and_derivatives_are_those_of_the_function():
    for function in (logarithm, xs.jit(logarithm), xs.checkpoint(logarithm), branch):
        checked = checkify.checkify(function)
        expected = jnp.log if function is not branch else lambda x: x
        np.testing.assert_allclose(checked(2.0)[1], expected(2.0), rtol=1e-6)
        np.testing.assert_allclose(xs.grad(lambda x, f=checked: f(x)[1])(2.0), xs.grad(expected)(2.0), rtol=1e-6)
    for function in (ruled, pulled):
        assert xs.grad(lambda x, f=function: checkify.checkify(f)(x)[1])(2.0) == 7.0


def test_each_example_has_its_error():
    error, _ = xs.vmap(checkify.checkify(logarithm))(jnp.array([1.0, -1.0, -2.0]))
    lines = error.get().splitlines()
    assert lines[0] == f"at mapped index 1: {NEGATIVE} (`check` failed)"
    assert lines[1].startswith("at mapped index 2: x is to be positive, got -2.0")
    with pytest.raises(checkify.JaxRuntimeError, match="at mapped index 1"):
        error.throw()


def test_an_error_is_a_container_of_arrays_and_raises():
    error, _ = checkify.checkify(logarithm)(-1.0)
    again = xs.tree.map(lambda x: x, error)
    assert again.get() == error.get() and repr(error) == f"Error({error.get()!r})"
    with pytest.raises(checkify.JaxRuntimeError, match="x is to be positive"):
        again.throw()
    assert isinstance(error.get_exception(), ValueError)
    fine, _ = checkify.checkify(logarithm)(1.0)
    fine.throw()
    assert fine.get() is None is fine.get_exception() and checkify.init_error.get() is None
    shown = []
    xs.jit(lambda x: shown.append(repr(checkify.checkify(logarithm)(x)[0])))(1.0)
    assert shown == ["Error(of 1 checks)"]


def test_checking_an_error():
    error, _ = checkify.checkify(logarithm)(-1.0)
    with pytest.raises(checkify.JaxRuntimeError, match="x is to be positive"):
        checkify.check_error(error)
    within, _ = checkify.checkify(lambda x: checkify.check_error(checkify.checkify(logarithm)(x)[0]))(-1.0)
    assert within.get() == error.get()
    checkify.check_error(checkify.checkify(logarithm)(1.0)[0])
    with pytest.raises(ValueError, match="of a batch"):
        checkify.check_error(xs.vmap(checkify.checkify(logarithm))(jnp.ones(2))[0])
    with pytest.raises(TypeError, match="takes an Error"):
        checkify.check_error(1)


def test_outside_of_what_is_checkified():
    assert logarithm(1.0) == 0.0
    with pytest.raises(checkify.JaxRuntimeError, match=r"got -1\.0 of 5"):
        logarithm(-1.0)
    for through in (xs.jit, lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 2)):
        with pytest.raises(ValueError, match=rf"a check at {re.escape(HERE)}.*checkify.checkify\(f\)"):
            through(logarithm)(1.0)
    assert xs.jit(lambda x: (checkify.debug_check(x > 0, "left out"), x)[1])(-1.0) == -1.0
    assert checkify.debug_check(False, "left out") is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: checkify.check(1.0, "m"), "one truth value"),
        (lambda: checkify.check(jnp.ones(2) > 0, "m"), "one truth value.*jnp.all"),
        (lambda: checkify.check("yes", "m"), "a truth value, got 'yes'"),
        (lambda: checkify.check(True, 3), "message as a text"),
        (lambda: checkify.check(True, "m {}", "s"), "arrays and numbers to tell of, got 's'"),
        (lambda: checkify.checkify(logarithm, errors="nan"), "kinds of checks"),
    ],
)
def test_what_is_no_check_is_refused(wrong, words):
    with pytest.raises(TypeError, match=words):
        wrong()


X = np.arange(3, dtype=np.float32)
FAR = np.int32(7)
OUTSIDE = "out-of-bounds indexing for array of shape (3,): index {} is out of bounds for axis 0 with size 3."
#: A function, an argument, the checks, and what is said.
AUTOMATIC = [
    (jnp.log, -1.0, checkify.nan_checks, "nan generated by primitive: log."),
    (xs.jit(jnp.log), -1.0, checkify.nan_checks, "nan generated by primitive: log."),
    (xs.grad(lambda x: jnp.sqrt(x) * 0), 0.0, checkify.float_checks, "division by zero"),
    (lambda x: jnp.sin(x), jnp.inf, checkify.all_checks, "nan generated by primitive: sin."),
    (lambda x: x / 0.0, 1.0, checkify.div_checks, "division by zero"),
    (lambda x: x / 0.0, 0.0, checkify.nan_checks, "nan generated by primitive: div."),
    (lambda x: x // 0, np.int32(1), checkify.div_checks, "division by zero"),
    (lambda x: x / 0.0, 1.0, checkify.user_checks, None),
    (lambda x: lax.scan(lambda c, v: (c / v, None), 1.0, x)[0], X, checkify.all_checks, "division by zero"),
    (lambda x: lax.cond(x > 0, lambda: jnp.log(x), lambda: x / 0), -1.0, checkify.all_checks, "division by zero"),
    (lambda x: lax.cond(x > 0, lambda: jnp.log(x), lambda: x / 0), 1.0, checkify.all_checks, None),
    (logarithm, -1.0, checkify.nan_checks, "nan generated by primitive: log."),
    (lambda x: nn.relu(x) / x, 0.0, checkify.div_checks, "division by zero"),
    (lambda i: jnp.asarray(X)[i], FAR, checkify.index_checks, OUTSIDE.format(7)),
    (lambda i: jnp.asarray(X)[i - 14], FAR, checkify.index_checks, OUTSIDE.format(-4)),
    (lambda i: jnp.asarray(X)[5] * i, FAR, checkify.index_checks, OUTSIDE.format(5)),
    (lambda i: jnp.asarray(X)[-4] * i, FAR, checkify.index_checks, OUTSIDE.format(-1)),
    (lambda i: jnp.asarray(X)[jnp.array([0, 1]) * i], FAR, checkify.index_checks, OUTSIDE.format(7)),
    (lambda i: jnp.asarray(X).at[i].set(1.0), FAR, checkify.index_checks, OUTSIDE.format(7)),
    (lambda i: jnp.asarray(X).at[5].add(i), FAR, checkify.index_checks, OUTSIDE.format(5)),
    (lambda i: jnp.take(jnp.asarray(X), i), FAR, checkify.index_checks, OUTSIDE.format(7)),
    (lambda i: lax.dynamic_slice(jnp.asarray(X), (i,), (2,)), np.int32(2), checkify.index_checks, OUTSIDE.format(2)),
    (lambda i: lax.dynamic_update_slice(jnp.asarray(X), X[:2], (i,)), FAR, checkify.all_checks, OUTSIDE.format(7)),
    (xs.vmap(lambda i: jnp.asarray(X)[i]), np.array([0, 7]), checkify.index_checks, OUTSIDE.format(7)),
    (
        lambda i: jnp.ones((2, 3))[i % 2, i],
        FAR,
        checkify.all_checks,
        "out-of-bounds indexing for array of shape (2, 3)",
    ),
]


@pytest.mark.parametrize(("function", "argument", "errors", "said"), AUTOMATIC)
def test_what_operations_do_is_looked_at(function, argument, errors, said):
    checked = checkify.checkify(function, errors=errors)
    for error, _ in (checked(argument), xs.jit(checked)(argument)):
        told = error.get()
        assert told is None if said is None else told.startswith(said) and f"{HERE}:" in told


def harmless():
    """Functions that look up and divide inside, whose results are all right."""
    x, m, i = jnp.linspace(0.1, 1.0, 6), jnp.arange(6.0).reshape(2, 3), jnp.array([0, 2, 1])
    key = xs.random.key(0)
    yield jnp.nonzero(x > 0.5, size=4), jnp.where(x > 0.5, size=2), jnp.unique(i, size=5), jnp.searchsorted(x, x + 1)
    yield jnp.histogram(x, 4), jnp.interp(0.4, x, x), jnp.median(x), jnp.roll(x, i[1]), jnp.bincount(i, length=2)
    yield jnp.linalg.solve(m @ m.T + jnp.eye(2), jnp.ones(2)), jnp.take_along_axis(m, i[None], 1)
    yield xs.random.permutation(key, x), xs.random.gamma(key, 2.0, (3,)), jnp.insert(x, 1, 5.0), jnp.sort(x), x[-1]
    yield xs.grad(lambda v: v[i].sum())(x), xs.vmap(lambda r, j: r.at[j].set(0.0))(m, i[:2])
    yield xs.ops.segment_sum(x, i.repeat(2), 3), jnp.repeat(i, i, total_repeat_length=5), nn.softmax(x)
    yield xs.grad(nn.logsumexp)(x), xs.grad(jnp.std)(x), lax.fori_loop(0, 3, lambda j, c: c.at[j].add(x[j]), x)


def test_nothing_is_found_where_nothing_is_wrong():
    error, _ = xs.jit(checkify.checkify(lambda: list(harmless()), errors=checkify.all_checks))()
    assert error.get() is None


def test_checks_in_what_is_not_looked_into_are_not_lost():
    def solve(x):
        return lax.custom_linear_solve(lambda v: (logarithm(x), 2.0 * v)[1], x, lambda _, b: b / 2.0)

    with pytest.raises(NotImplementedError, match=rf"within custom_linear_solve at {re.escape(HERE)}"):
        checkify.checkify(solve)(1.0)


def test_each_device_of_a_mesh_has_its_outcome():
    """tests/core/parallel/test_checks.py has eight of them."""
    mesh = xs.make_mesh((1,), ("x",))
    checked = checkify.checkify(xs.shard_map(logarithm, mesh=mesh, in_specs=xs.P(), out_specs=xs.P()))
    error, value = checked(-1.0)
    assert error.get() == f"at mapped index 0: {NEGATIVE} (`check` failed)" and np.isnan(value)
    assert checked(1.0)[0].get() is None
    with pytest.raises(checkify.JaxRuntimeError, match="at mapped index 0"):
        checkify.check_error(error)
    mapped, _ = xs.vmap(checked)(jnp.array([1.0, -1.0]))
    assert mapped.get() == f"at mapped index 1, 0: {NEGATIVE} (`check` failed)"
    again = checkify.checkify(lambda x: checkify.check_error(checked(x)[0]))
    assert again(-1.0)[0].get() == f"{NEGATIVE} (`check` failed)" and again(1.0)[0].get() is None
