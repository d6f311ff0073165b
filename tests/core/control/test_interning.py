"""Programs found again by their content: what is equal compiles once, what differs in anything does not."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, records
from xlascope.control.programs import interning

X = jnp.arange(1.0, 4.0)


def made_by(call: Callable[[], Any]) -> list[str]:
    """Return what a call traces, lowers and compiles, by the names of its records."""
    seen: list[Any] = []
    with records.watch(seen.append):
        call()
    return [
        type(each).__name__ for each in seen if isinstance(each, records.Traced | records.Lowered | records.Compiled)
    ]


def scaled(factor: Any) -> Any:
    """A loop whose body is made anew."""
    return lax.scan(lambda c, x: (c + factor * x, c), 0.0, X)[0]


def ruled(factor: Any) -> Callable[[Any], Any]:
    """A function with a rule of its own, made anew."""
    f = xs.custom_jvp(lambda x: factor * x)
    f.defjvp(lambda primals, tangents: (factor * primals[0], factor * tangents[0]))
    return f


CALLS: dict[str, Callable[[Any], Any]] = {
    "scan": scaled,
    "gradient of scan": lambda factor: xs.grad(lambda y: lax.scan(lambda c, x: (c + factor * y * x, c), 0.0, X)[0])(
        1.0
    ),
    "branch": lambda factor: lax.cond(X[0] > 0, lambda x: factor * x, lambda x: x, X).sum(),
    "loop": lambda factor: lax.fori_loop(0, 3, lambda i, c: factor * c, 1.0),
    "rule under vmap": lambda factor: xs.vmap(ruled(factor))(X).sum(),
    "gradient of rule under vmap": lambda factor: xs.grad(lambda x: xs.vmap(ruled(factor))(x).sum())(X).sum(),
    "checkpoint": lambda factor: xs.grad(xs.checkpoint(lambda x: (factor * jnp.sin(x)).sum()))(X).sum(),
    "solver": lambda factor: lax.custom_linear_solve(lambda x: factor * x, X, lambda _, b: b / factor, symmetric=True)[
        0
    ],
    "reduction": lambda factor: lax.reduce(X, jnp.float32(0), lambda a, b: a + b, (0,)) * factor,
}


@pytest.mark.parametrize("kind", [float, jnp.float32], ids=["number", "array"])
@pytest.mark.parametrize("name", CALLS)
def test_a_function_made_anew_compiles_once_and_sees_what_it_closes_over_now(name, kind):
    call = CALLS[name]
    fresh = {factor: float(xs.jit(lambda factor=factor: call(kind(factor)))()) for factor in (2.0, 3.0)}
    for factor in (2.0, 3.0, 2.0, 3.0):
        np.testing.assert_allclose(call(kind(factor)), fresh[factor], rtol=1e-6)
    assert made_by(lambda: call(kind(2.0))) == []


def test_zeros_of_both_signs_are_two_programs():
    over = lambda zero: lax.fori_loop(0, 1, lambda i, c: c * zero, 1.0)  # noqa: E731
    assert [np.signbit(over(zero)) for zero in (0.0, -0.0, 0.0, -0.0)] == [False, True, False, True]


def test_numbers_of_other_types_are_other_programs():
    over = lambda one: lax.fori_loop(0, 1, lambda i, c: c * one, jnp.ones(2, "int32") * one)  # noqa: E731
    assert [over(one).dtype.name for one in (1, 1.0, True, 1.0)] == ["int32", "float32", "int32", "float32"]


def test_settings_count():
    def call():
        return lax.fori_loop(0, 1, lambda i, c: jnp.asarray(0.1) * c, jnp.asarray(1.0))

    assert call().dtype == "float32"
    with xs.enable_x64(True):
        assert call().dtype == "float64"
    assert call().dtype == "float32"


def test_a_rule_that_is_set_again_is_used():
    f = xs.custom_jvp(lambda x: 2.0 * x)
    gradient = lambda: float(xs.grad(lambda x: xs.vmap(lambda y: f(y))(x).sum())(X)[0])  # noqa: E731
    found = []
    for slope in (5.0, 7.0, 5.0):
        f.defjvp(lambda primals, tangents, slope=slope: (2.0 * primals[0], slope * tangents[0]))
        found += [gradient(), gradient()]
    assert found == [5.0, 5.0, 7.0, 7.0, 5.0, 5.0]


def test_rules_of_equal_functions_are_not_confused():
    def slope(factor: float) -> float:
        return float(xs.grad(lambda y: lax.scan(lambda c, x: (c + inner(factor)(y), x), 0.0, X)[0])(1.0))

    def inner(factor: float) -> Any:
        f = xs.custom_jvp(lambda x: 2.0 * x)  # the same function, with other rules
        f.defjvp(lambda primals, tangents: (2.0 * primals[0], factor * tangents[0]))
        return f

    assert [slope(factor) for factor in (5.0, 7.0, 5.0)] == [15.0, 21.0, 15.0]


def test_a_callback_is_that_of_the_call():
    told: list[str] = []

    def call(name: str) -> None:
        lax.fori_loop(0, 1, lambda i, c: (xs.debug.callback(lambda _: told.append(name), c), c)[1], 1.0)
        xs.effects_barrier()

    for name in "aba":
        call(name)
    assert told == ["a", "b", "a"]


def test_lines_count():
    """What a profile says of a program is said of its lines."""
    first = lambda: lax.fori_loop(0, 1, lambda i, c: c * 7.0, 1.0)  # noqa: E731
    second = lambda: lax.fori_loop(0, 1, lambda i, c: c * 7.0, 1.0)  # noqa: E731
    first()
    assert "Compiled" in made_by(second)
    assert made_by(first) == made_by(second) == []


def test_there_is_a_bound():
    for size in range(1, 2 * interning._MAX_PROGRAMS + 50):
        interning.intern_program(xs.make_jaxpr(jnp.sin)(jnp.ones(size)))
    assert len(interning._programs.all()) <= 2 * interning._MAX_PROGRAMS


def test_no_array_is_held():
    def watched():
        x = jnp.full(1000, 2.0)
        lax.scan(lambda c, y: (c + x.sum() * y, c), 0.0, X)
        xs.vmap(ruled(x))(jnp.ones((2, 1000)))
        return weakref.ref(x)

    x = watched()
    gc.collect()
    assert x() is None


def test_clear_caches_forgets_programs():
    scaled(2.0)
    xs.clear_caches()
    assert interning._programs.all() == {}
    assert "Compiled" in made_by(lambda: scaled(2.0))


def test_programs_within_a_jitted_one_are_left_as_they_are():
    before = len(interning._programs.all())
    xs.jit(lambda: scaled(2.0) + scaled(3.0))()
    assert len(interning._programs.all()) == before
