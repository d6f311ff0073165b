"""Taylor mode agrees with jax, nested forward differentiation and polynomials, and is cheaper than nesting."""

import importlib.util
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, settings
from xlascope.dtypes import float0, is_differentiable
from xlascope.experimental.jet import jet, zero_series, zero_term
from xlascope.ir.operation import Operation
from xlascope.operations import arithmetic, elementwise, trigonometry
from xlascope.trace.bind import bind
from xlascope.transforms.taylor import taylor_program

HERE = Path(__file__).with_name("jets.py")


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


JETS = _load("xlascope_jets", HERE)
TABLE = _load("xlascope_operations_table", Path(__file__).parents[1] / "operations" / "table.py")


def near(found: Any, wanted: Any, tolerance: float = 2e-5) -> None:
    for x, y in zip(xs.tree_util.tree_leaves(found), xs.tree_util.tree_leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)


# Nested forward differentiation --------------------------------------------------------------------------------------


def along(function: Callable[..., Any], curves: Sequence[Sequence[Any]], order: int) -> list[Any]:
    """The value and derivatives at t = 0 of a function of curves, by jvp of jvp of …; the curves are derivatives."""

    def at(t: Any) -> Any:
        return function(*(_point(curve, t) for curve in curves))

    found = [at]
    for _ in range(order):
        found.append(lambda t, f=found[-1]: xs.jvp(f, (t,), (np.ones((), t.dtype)[()],))[1])
    zero = np.zeros((), np.zeros((), curves[0][0].dtype).real.dtype)[()]
    return [derivative(zero) for derivative in found]


def _point(curve: Sequence[Any], t: Any) -> Any:
    total = curve[0]
    for k, term in enumerate(curve[1:], 1):
        total = total + term * lax.integer_pow(t, k).astype(term.dtype) / math.factorial(k)
    return total


def jets_of(function: Callable[..., Any], curves: Sequence[Sequence[Any]]) -> list[Any]:
    """The same by Taylor mode."""
    value, terms = jet(function, [curve[0] for curve in curves], [list(curve[1:]) for curve in curves])
    leaves, structure = xs.tree_util.tree_flatten(value)
    series = xs.tree_util.tree_leaves(terms)
    order = len(curves[0]) - 1
    return [value, *(structure.unflatten(series[k::order][: len(leaves)]) for k in range(order))]


# Against jax ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def expected(jax_says) -> dict[str, Any]:
    return jax_says(HERE, "every")


@pytest.fixture(scope="module")
def series() -> dict[str, Any]:
    return JETS.every(xs)


@pytest.mark.parametrize("row", JETS.ROWS)
def test_series_are_those_of_jax(row: str, series: dict[str, Any], expected: dict[str, Any]) -> None:
    found, wanted = series[row], expected[row]
    assert [(x.shape, x.dtype) for x in found] == [(x.shape, x.dtype) for x in wanted]
    near(found, wanted, 2e-4)


@pytest.mark.parametrize("row", JETS.NOT_IN_JAX)
def test_what_jax_cannot_is_nested_forward_differentiation(row: str) -> None:
    function, curves = JETS.function_of(xs, row), list(JETS.CURVES.values())
    found, wanted = xs.jit(lambda: (jets_of(function, curves), _without_float0(along(function, curves, JETS.ORDER))))()
    near(found, wanted, 2e-4)


def _without_float0(derivatives: Any) -> Any:
    return xs.tree_util.tree_map(lambda x: np.zeros(x.shape, np.float32) if x.dtype == float0 else x, derivatives)


# Every operation -----------------------------------------------------------------------------------------------------


def _moving_rows() -> list[Any]:
    """Of each operation that has derivatives of all orders the first row in which something moves."""
    rows = [
        row
        for row in TABLE.ROWS
        if row.smooth and row.twice and any(is_differentiable(x.dtype) for x in row.make(row.dtypes[0]))
    ]
    by_name = itertools.groupby(sorted(rows, key=lambda row: row.name), key=lambda row: row.name)
    return [next(of_name) for _, of_name in by_name]


@pytest.mark.parametrize("row", _moving_rows(), ids=lambda row: row.id)
@pytest.mark.parametrize("order", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_jet_of_an_operation_is_its_nested_derivative(row: Any, order: int) -> None:
    dtype = {"float32": "float64", "complex64": "complex128"}.get(row.dtypes[0], row.dtypes[0])
    with settings.enable_x64():
        operation, operands = row.operation(dtype), [x[()] for x in row.make(dtype)]
        moves = [is_differentiable(x.dtype) for x in operands]
        random = np.random.default_rng(5)

        def function(*moving: Any) -> list[Any]:
            rest = iter(moving)
            results = bind(operation, *(next(rest) if m else x for m, x in zip(moves, operands, strict=True)))
            return [y for y in results if is_differentiable(y.dtype)]

        curves = [
            [x, *(np.asarray(0.1 * random.normal(size=x.shape), x.dtype)[()] for _ in range(order))]
            for x, m in zip(operands, moves, strict=True)
            if m
        ]
        found, wanted = xs.jit(lambda: (jets_of(function, curves), along(function, curves, order)))()
        near(found, wanted, 1e-7)


# Against polynomials -------------------------------------------------------------------------------------------------

P = [np.polynomial.Polynomial(c) for c in ([1.5, 0.25, -1.0, 0.5, 2.0, 0.125], [2.0, -0.5, 0.75, 1.0, -0.25, 0.5])]


def coefficients(function: Callable[..., Any], polynomials: Sequence[Any] = P) -> np.ndarray:
    with settings.enable_x64():
        primals, series = [p.coef[0] for p in polynomials], [list(p.coef[1:]) for p in polynomials]
        value, terms = jet(function, primals, series, factorial_scaled=False)
        return np.array([value, *terms])


@pytest.mark.parametrize(
    "function",
    [
        lambda p, q: p * q,
        lambda p, q: p * p * q - 3 * p + q,
        lambda p, q: p**3 + q**2,
        lambda p, q: (p - q) ** 5,
        lambda p, q: p * 2.0 - q / 4.0 + 1.0,
    ],
)
def test_polynomials_of_polynomials(function: Callable[..., Any]) -> None:
    np.testing.assert_allclose(coefficients(function), function(*P).coef[:6], rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "inverse"),
    [
        (jnp.exp, jnp.log),
        (jnp.sinh, jnp.arcsinh),
        (lambda p: 1 / p, lambda p: p**-1),
        (jnp.sqrt, jnp.square),
        (lambda p: p**3.0, lambda p: p ** (1 / 3)),
        (lambda p: jnp.tanh(p / 4), lambda p: 4 * jnp.arctanh(p)),
        (lambda p: jnp.tan(p / 4), lambda p: 4 * jnp.arctan(p)),
        (lambda p: jnp.sin(p / 4), lambda p: 4 * jnp.arcsin(p)),
        (lambda p: lax.erf(p / 4), lambda p: 4 * lax.erf_inv(p)),
    ],
)
def test_a_function_and_its_inverse(function: Callable[..., Any], inverse: Callable[..., Any]) -> None:
    np.testing.assert_allclose(coefficients(lambda p: inverse(function(p)), P[:1]), P[0].coef, rtol=1e-10)


def test_identities() -> None:
    one = coefficients(lambda p: jnp.sin(p) ** 2 + jnp.cos(p) ** 2, P[:1])
    np.testing.assert_allclose(one, [1, 0, 0, 0, 0, 0], atol=1e-13)
    np.testing.assert_allclose(
        coefficients(lambda p, q: jnp.exp(p + q)), coefficients(lambda p, q: jnp.exp(p) * jnp.exp(q)), rtol=1e-12
    )
    np.testing.assert_allclose(
        coefficients(lambda p, q: p**q), coefficients(lambda p, q: jnp.exp(q * jnp.log(p))), rtol=1e-11
    )
    np.testing.assert_allclose(coefficients(lambda p, q: p / q * q), P[0].coef, rtol=1e-12)


def test_a_power_at_zero_has_all_its_derivatives() -> None:
    value, terms = jet(lambda t: t**3.0, (0.0,), ([1.0, 0.0, 0.0, 0.0],))
    assert [float(y) for y in (value, *terms)] == [0, 0, 0, 6, 0]


# Inside other transformations ----------------------------------------------------------------------------------------


def curve_of(x: Any) -> Any:
    """A function whose Taylor terms are functions of x."""
    value, terms = jet(lambda y: jnp.tanh(y) * y, (x,), ([jnp.sin(x), x, 1.0],))
    return jnp.stack([value, *terms])


def exact(x: Any) -> Any:
    """The same by nested forward differentiation."""
    return jnp.stack(along(lambda y: jnp.tanh(y) * y, [[x, jnp.sin(x), x, jnp.float32(1.0)]], 3))


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f(jnp.float32(0.3)),
        lambda f: xs.jit(f)(jnp.float32(0.3)),
        lambda f: xs.vmap(f)(jnp.float32([0.3, -0.5])),
        lambda f: xs.jacfwd(f)(jnp.float32(0.3)),
        lambda f: xs.jacrev(f)(jnp.float32(0.3)),
        lambda f: xs.jit(xs.vmap(xs.grad(lambda x: f(x).sum())))(jnp.float32([0.3, -0.5])),
        lambda f: xs.grad(lambda x: xs.vmap(f)(x).sum())(jnp.float32([0.3, -0.5])),
        lambda f: xs.hessian(lambda x: f(x)[2])(jnp.float32(0.3)),
    ],
)
def test_jet_inside_other_transformations(transform: Callable[..., Any]) -> None:
    near(transform(curve_of), transform(exact), 1e-4)


inner = xs.jit(lambda x, y: (jnp.sin(x) * y, jnp.ones(3), x > 0))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: inner(x, x)[0],
        lambda x: inner(x, 2.0)[0] + inner(3.0, x)[0] + inner(x, x)[1],
        lambda x: xs.jit(lambda y: y * x)(x),
        lambda x: xs.vmap(lambda y: y * jnp.sum(x))(x),
        lambda x: xs.grad(lambda y: jnp.sum(jnp.sin(y) * x))(x),
        lambda x: xs.jvp(lambda y: y * x, (x,), (jnp.cos(x),))[1],
        lambda x: xs.vmap(xs.grad(lambda y: inner(y, y * y)[0]))(x),
        lambda x: jet(lambda y: y * x * y, (x,), ([x, 1.0],))[1][1],
        lambda x: xs.linearize(jnp.tanh, x)[1](x),
        lambda x: xs.vjp(lambda y: xs.jit(jnp.tanh)(y) * x, x)[1](jnp.exp(x))[0],
    ],
)
@pytest.mark.parametrize("outer", [lambda f: f, xs.jit], ids=["plain", "jit"])
def test_other_transformations_inside_jet(function: Callable[..., Any], outer: Callable[..., Any]) -> None:
    curves = [[np.float32(v) for v in ([0.3, -0.5, 0.7], [1, 0.5, 2], [0.2, 1, 0], [1, 0, 0.1])]]
    near(jets_of(outer(function), curves), along(function, curves, 3), 1e-4)


def test_a_jet_inside_the_jet_of_another_is_not_confused_with_it() -> None:
    # d²/dx² [x · d³/dy³ (x y³)] = d²/dx² 6 x² = 12
    def outer(x: Any) -> Any:
        return x * jet(lambda y: x * y**3, (1.0,), ([1.0, 0.0, 0.0],))[1][2]

    value, (first, second) = jet(outer, (2.0,), ([1.0, 0.0],))
    assert [float(value), float(first), float(second)] == [24, 24, 12]


def test_a_call_stays_a_call() -> None:
    program = xs.make_jaxpr(lambda x: jet(lambda y: inner(y, y)[0], (x,), ([x, x],)))(1.0)
    (call,) = (e for e in program.jaxpr.eqns if e.primitive.name == "jit")
    assert len(call.outvars) == 5  # three results, and two terms for the one that moves


def test_forced_results_get_zeros() -> None:
    body = xs.make_jaxpr(lambda x: (x * 2, 1.0))(3.0)
    program, moving = taylor_program(body, 2, (True,), (True, True))
    assert moving == (True, True)
    assert [y.shape for y in program.out_avals] == [()] * 6
    assert taylor_program(body, 2, (True,))[1] == (True, False)


# Cost ----------------------------------------------------------------------------------------------------------------

WEIGHTS = [np.random.default_rng(i).normal(size=(4, 4)).astype(np.float32) for i in range(3)]


def network(x: Any) -> Any:
    for w in WEIGHTS:
        x = jnp.tanh(w @ x)
    return x


def equations(function: Callable[..., Any], *operands: Any) -> int:
    return len(xs.make_jaxpr(function)(*operands).jaxpr.eqns)


def test_the_cost_of_a_network_grows_with_the_square_of_the_order() -> None:
    x = np.ones(4, np.float32)

    def of_jet(order: int) -> int:
        return equations(lambda x: jet(network, (x,), ([x] + [0 * x] * (order - 1),)), x)

    def of_nested(order: int) -> int:
        return equations(lambda x: along(network, [[x, x]], order)[-1:], x)

    assert of_jet(8) < of_nested(5) < of_nested(6) / 2
    assert of_jet(16) < 4 * of_jet(8)


def held(program: Any) -> int:
    """The number of equations, those in bodies included."""
    return sum(1 + sum(map(held, eqn.operation.bodies())) for eqn in program.jaxpr.eqns)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: xs.jit(lambda y: jnp.sin(y) * y)(x),
        lambda x: xs.checkpoint(lambda y: jnp.sin(y) * y)(x),
        lambda x: lax.cond(x > 0, lambda y: jnp.sin(y) * y, jnp.cos, x),
        lambda x: lax.fori_loop(0, 3, lambda _, y: jnp.sin(y) * y, x),
        lambda x: lax.while_loop(lambda y: y < 1, lambda y: jnp.exp(y) * y, x),
        lambda x: lax.scan(lambda y, a: (jnp.sin(y) * a, y), x, jnp.arange(3.0))[0],
    ],
)
def test_programs_that_operations_hold_cost_no_more(function: Callable[..., Any]) -> None:
    def count(order: int) -> int:
        return held(xs.make_jaxpr(lambda x: jet(function, (x,), ([x] * order,), factorial_scaled=False))(0.5))

    assert count(16) < 4.5 * count(8)


@pytest.mark.parametrize(
    "function", [jnp.sin, jnp.exp, jnp.log, jnp.tanh, lambda x: 1 / x, jnp.sqrt, jnp.arctan, lax.erf]
)
def test_functions_cost_the_square_of_the_order(function: Callable[..., Any]) -> None:
    def count(order: int) -> int:
        return equations(lambda x: jet(function, (x,), ([x] * order,), factorial_scaled=False), 0.5)

    assert count(32) < 4.2 * count(16)


# How it is called ----------------------------------------------------------------------------------------------------


def test_trees_come_back_with_a_list_at_each_array() -> None:
    value, terms = jet(lambda x: {"a": (x, 3.0), "b": [x > 0, None]}, (2.0,), ([1.0, 0.0],))
    assert value["a"][1] == 3.0 and bool(value["b"][0])
    assert terms == {"a": ([1.0, 0.0], [0.0, 0.0]), "b": [[0.0, 0.0], None]}
    assert all(y.dtype == np.float32 for y in terms["b"][0])


def test_zero_series_and_zero_terms_do_not_move() -> None:
    value, terms = jet(lambda x, y: x * y, (0.5, 2.0), ([1.0, 3.0], zero_series))
    assert [float(y) for y in (value, *terms)] == [1, 2, 6]
    value, terms = jet(lambda x: x * x, (0.5,), ([zero_term, 3.0, zero_term, zero_term],))
    assert [float(y) for y in (value, *terms)] == [0.25, 0, 3, 0, 54]
    assert jet(jnp.sin, (0.0,), (zero_series,))[1] == []
    assert repr(zero_series), repr(zero_term)


def test_terms_take_the_type_and_shape_of_their_primal() -> None:
    value, (first, second) = jet(jnp.sin, (np.ones((2, 3), np.float16),), ([1, np.float64(2)],))
    assert {(y.shape, y.dtype.name) for y in (value, first, second)} == {((2, 3), "float16")}
    value, (first,) = jet(jnp.sin, (3,), ([1],))
    np.testing.assert_allclose([value, first], [np.sin(3), np.cos(3)], rtol=1e-6)
    value, (first,) = jet(lambda z: z * z, (1 + 2j,), ([1.0],))
    assert complex(first) == 2 + 4j


def test_terms_are_weakly_typed_where_primal_and_terms_are() -> None:
    y, terms = jet(lambda x: jnp.sin(x) * 2, (1.0,), ((1.0, 0, 0.0),))
    assert all(each.weak_type for each in (y, *terms))
    for x, term in ((np.float32(1), 1.0), (1.0, np.float32(1))):
        y, terms = jet(jnp.sin, (x,), ((term, 0.0),))
        assert y.weak_type == isinstance(x, float) and not any(each.weak_type for each in terms)


def test_orders_none_and_nothing() -> None:
    assert jet(jnp.cos, (0.0,), ([],)) == (1.0, [])
    assert jet(lambda: 2.0, (), ()) == (2.0, [])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (((1.0, 2.0), ([1.0], [1.0, 2.0])), ValueError, "jet terms have inconsistent lengths.*: 1, 2.*zero_series"),
        (((1.0, 2.0), ([1.0],)), ValueError, "2 primals and 1 series"),
        (((1.0,), (1.0,)), TypeError, "series at position 0.*list of terms, got float"),
        ((1.0, ([1.0],)), TypeError, "primals and series as tuples or lists"),
        ((([1.0],), ([[1.0]],)), ValueError, "position 0.*is not an array but a list"),
        ((("a",), ([1.0],)), TypeError, "primal value at position 0.*str"),
        (((1.0,), (["a"],)), TypeError, "term 1 of the series at position 0"),
        (((np.ones(2),), ([np.ones(3)],)), ValueError, r"term 1.*shape \(3,\), the primal has \(2,\)"),
    ],
)
def test_what_does_not_fit_is_said(arguments: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        jet(lambda *xs: sum(xs), *arguments)


def test_integers_do_not_move() -> None:
    with pytest.raises(TypeError, match=r"add of a value of type i32.*floating-point primal"):
        jet(lambda n: n + 1, (3,), ([1],))


def test_a_tracer_that_left_its_jet_says_so() -> None:
    kept = []
    jet(lambda x: kept.append(x) or x, (1.0,), ([1.0],))
    with pytest.raises(xs.errors.UnexpectedTracerError):
        kept[0] + 1.0


def test_values_are_known_while_the_jet_runs() -> None:
    value, (slope,) = jet(lambda x: x * x if x > 2 else -x, (3.0,), ([1.0],))
    assert (float(value), float(slope)) == (9, 6)


# An operation from outside -------------------------------------------------------------------------------------------


class Twice(elementwise.Unary, name="test_twice_sine"):
    """2 sin x, with no rule but a derivative."""

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,) = operands
        y = builder.emit1("stablehlo.sine", [x], builder.out_avals[0])
        return builder.emit("stablehlo.add", [y, y])

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return arithmetic.mul(t, arithmetic.mul(2.0, trigonometry.cos(x)))


class Product(elementwise.Binary, name="test_product"):
    """x y, with no rule but its derivatives, in which it stands itself."""

    hlo = "stablehlo.multiply"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return bind(self, t, y)[0]

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return bind(self, x, t)[0]


class Opaque(Operation, name="test_opaque"):
    """x, and nobody knows its derivative."""

    def abstract_eval(self, operands: Sequence[Any]) -> list[Any]:
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return list(operands)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        raise NotImplementedError(f"{self.name} has no derivative")

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        raise NotImplementedError


def test_an_operation_that_has_only_a_derivative() -> None:
    near(
        jet(lambda x: bind(Twice(), x)[0], (0.5,), ([1.0, 2.0, 0.0, 1.0],)),
        jet(lambda x: 2 * jnp.sin(x), (0.5,), ([1.0, 2.0, 0.0, 1.0],)),
    )


def test_a_product_that_has_only_derivatives_is_polynomial_too() -> None:
    def count(order: int) -> int:
        return equations(
            lambda x, y: jet(lambda a, b: bind(Product(), a, b), (x, y), ([x] * order, [y] * order)), 1.0, 1.0
        )

    near(
        jet(lambda x, y: bind(Product(), x, y)[0], (0.5, 2.0), ([1.0, 2.0, 0.0, 1.0], [1.0, 1.0, 3.0, 0.5])),
        jet(lambda x, y: x * y, (0.5, 2.0), ([1.0, 2.0, 0.0, 1.0], [1.0, 1.0, 3.0, 0.5])),
    )
    assert count(16) < 64 * count(4)


def test_an_operation_without_derivative_is_named() -> None:
    with pytest.raises(NotImplementedError, match="test_opaque has no derivative"):
        jet(lambda x: bind(Opaque(), x)[0], (0.5,), ([1.0],))
