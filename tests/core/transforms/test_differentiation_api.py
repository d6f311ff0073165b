"""grad and its relatives as users call them: values, structures and errors of jax, identities, carried pullbacks."""

import functools
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.dtypes import float0
from xlascope.ir.checker import check_jaxpr
from xlascope.test_util import check_grads, check_jvp, check_vjp
from xlascope.trace.state import STATE

CALLS = Path(__file__).with_name("differentiation.py")
TREES = Path(__file__).with_name("tree_functions.py")


def load(path):
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLE, FUNCTIONS = load(CALLS), load(TREES)

# Against jax --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jax_calls(jax_says):
    return jax_says(CALLS, "every_call")


@pytest.fixture(scope="module")
def jax_misuses(jax_says):
    return jax_says(CALLS, "every_misuse")


@pytest.fixture(scope="module")
def jax_trees(jax_says):
    return jax_says(TREES, "every")


def same(found, expected, tolerance=1e-5):
    """Equal structures, dtypes and shapes, and close values."""
    assert found[0] == expected[0]
    assert len(found[1]) == len(expected[1])
    for ours, theirs in zip(found[1], expected[1], strict=True):
        if isinstance(theirs, (str, tuple)) and theirs[0] != "bfloat16":
            assert ours == theirs
        elif isinstance(theirs, tuple):
            assert ours[0] == "bfloat16"
            np.testing.assert_array_equal(ours[1], theirs[1])
        else:
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("row", TABLE.rows(TABLE.CALLS + TABLE.COMPLEX + TABLE.STOPPED + TABLE.CARRIED))
def test_a_call_gives_what_jax_gives(row, jax_calls):
    same(TABLE.value_of(xs, row), jax_calls[row])


@pytest.mark.parametrize(
    "row",
    [
        "jnp.ones(2) - lib.grad(lambda n: 2.0 * n.sum(), allow_int=True)(np.arange(2))",
        "jnp.sin(zero0())",
        "jnp.where(True, zero0(), 1.0)",
        "lib.jit(lambda g: g * 2)(zero0(2))",
    ],
)
def test_computing_with_float0_says_what_it_is(row):
    with pytest.raises(TypeError, match="float0 holds no numbers"):
        eval(row, TABLE.scope(xs))


@pytest.mark.parametrize(
    ("jacobian", "weak"),
    [(xs.jacrev, [False, True]), (xs.jacfwd, [False, False]), (xs.hessian, [False, False, True, True])],
)
def test_jacobians_are_as_weakly_typed_as_what_they_are_the_derivative_by(jacobian, weak):
    """As in jax: of reverse mode as weak as the arguments, of forward mode as the result."""
    gradient = jacobian(lambda p: p["a"] @ p["a"] * p["b"])({"a": np.ones(2, np.float32), "b": 2.0})
    assert [x.weak_type for x in xs.tree.leaves(gradient)] == weak
    assert [x.weak_type for x in (jacobian(lambda x: x**3)(2.0), jacobian(lambda x: x**3)(np.float32(2)))] == [
        True,
        False,
    ]


@pytest.mark.parametrize("row", TABLE.MISUSES)
def test_a_misuse_raises_what_jax_raises_and_says_what_is_wrong(row, jax_misuses):
    names = {"TypeError": TypeError, "ValueError": ValueError, "NotImplementedError": NotImplementedError}
    expected = next(names[name] for name in jax_misuses[row] if name in names)
    with pytest.raises(expected) as caught:
        eval(compile(row, str(CALLS.with_name("the_users_file.py")), "eval"), TABLE.scope(xs))
    message = str(caught.value)
    assert all(word in message for word in TABLE.MISUSES[row]), message
    assert "the_users_file.py:1" in message
    assert STATE.trace is None and STATE.origin is None


@pytest.fixture(scope="module")
def our_trees():
    return functools.cache(lambda name: FUNCTIONS.derivatives(xs, name))


NAMES = list(FUNCTIONS.functions(xs))


@pytest.mark.parametrize("name", NAMES)
def test_all_derivatives_of_a_function_of_trees_are_those_of_jax(name, jax_trees, our_trees):
    ours = our_trees(name)
    assert list(ours) == list(jax_trees[name])
    for what, expected in jax_trees[name].items():
        same(ours[what], expected, 5e-5)


# Identities ---------------------------------------------------------------------------------------------------------


def flat(leaves):
    return np.concatenate([np.zeros(0), *(np.asarray(x, np.float64).ravel() for x in leaves)])


def matrix(blocks, rows, columns):
    """The matrix whose blocks are the leaves of a Jacobian, for results and operands of those shapes."""
    pieces = iter(blocks)
    whole = [[np.reshape(next(pieces), (np.size(r), np.size(c))) for c in columns] for r in rows]
    assert next(pieces, None) is None
    return np.block(whole).astype(np.float64)


@pytest.mark.parametrize("name", NAMES)
def test_the_derivatives_of_a_function_of_trees_agree_with_each_other(name, our_trees):
    found = {what: leaves for what, (_, leaves) in our_trees(name).items()}
    f, args = FUNCTIONS.functions(xs)[name]
    operands = xs.tree.leaves(args)
    tangents = flat(xs.tree.leaves(FUNCTIONS.draw(xs, args, 1)))
    cotangent = flat(xs.tree.leaves(FUNCTIONS.draw(xs, f(*args), 2)))
    forward = matrix(found["jacfwd"], found["value"], operands)
    close = lambda x, y: np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)  # noqa: E731
    close(matrix(found["jacrev"], found["value"], operands), forward)
    close(flat(found["jvp"]), forward @ tangents)
    close(flat(found["linearize"]), flat(found["jvp"]))
    close(flat(found["vjp"]), cotangent @ forward)
    close(flat(found["transpose"]), flat(found["vjp"]))
    close(flat(found["grad"]), flat(found["vjp"]))
    close(cotangent @ flat(found["jvp"]), flat(found["vjp"]) @ tangents)
    second = matrix(found["hessian"], operands, operands)
    close(second, second.T)


@pytest.mark.parametrize("name", NAMES[::3])
def test_the_derivatives_of_functions_of_trees_are_those_of_differences(name):
    f, args = FUNCTIONS.functions(xs)[name]
    check_grads(f, args, order=1, atol=5e-3, rtol=5e-3)


# Linear functions as values -----------------------------------------------------------------------------------------


def test_pullbacks_and_derivatives_are_containers_of_their_residuals():
    x = np.float32([1, 2])
    _, pullback = xs.vjp(lambda x: jnp.sin(x) * x, x)
    _, derivative = xs.linearize(lambda x: jnp.sin(x) * x, x)
    for linear in (pullback, derivative):
        residuals, structure = xs.tree.flatten(linear)
        assert residuals and all(r.shape == (2,) for r in residuals)
        assert structure == xs.tree.structure(linear)
    assert isinstance(derivative, xs.tree_util.Partial)
    assert "vjp of" in repr(pullback)


def test_a_pullback_passes_a_jitted_function_without_a_second_trace():
    traces = []

    @xs.jit
    def apply(pullback, cotangent):
        traces.append(0)
        return pullback(cotangent)[0]

    forward = xs.jit(lambda x: xs.vjp(jnp.sin, x)[1])
    for value in (0.5, 1.5, 2.5):
        assert float(apply(forward(value), 2.0)) == pytest.approx(2 * np.cos(value), rel=1e-5)
    assert len(traces) == 1


def test_a_pullback_can_be_used_twice_with_the_same_result():
    _, pullback = xs.vjp(lambda x, y: x * y, 3.0, 4.0)
    before = pullback(1.0)
    xs.tree.leaves(pullback)
    assert [float(x) for x in before] == [float(x) for x in pullback(1.0)] == [4.0, 3.0]


# Sharing ------------------------------------------------------------------------------------------------------------

#: For each derivative of sum(tanh(x @ m)): how often its program has each operation.
COUNTS = [
    (lambda f: xs.grad(f), {"tanh": 1, "dot_general": 2}),
    (lambda f: xs.value_and_grad(f), {"tanh": 1, "dot_general": 2}),
    (lambda f: lambda x: xs.vjp(f, x)[1](1.0), {"tanh": 1, "dot_general": 2}),
    (lambda f: lambda x: xs.linearize(f, x)[1](x), {"tanh": 1, "dot_general": 2}),
    (lambda f: lambda x: xs.jvp(f, (x,), (x,)), {"tanh": 1, "dot_general": 2}),
    (lambda f: xs.jacrev(f), {"tanh": 1, "dot_general": 2}),
    (lambda f: xs.jacfwd(f), {"tanh": 1, "dot_general": 2}),
    (lambda f: xs.hessian(f), {"tanh": 1, "dot_general": 4}),
]


@pytest.mark.parametrize(("derivative", "counts"), COUNTS, ids=[str(i) for i in range(len(COUNTS))])
def test_a_derivative_computes_nothing_twice(derivative, counts):
    m = np.ones((3, 4), np.float32)
    program = xs.make_jaxpr(derivative(lambda x: jnp.sum(jnp.tanh(x @ m))))(np.ones(3, np.float32))
    check_jaxpr(program)
    names = [equation.primitive.name for equation in program.eqns]
    assert {name: names.count(name) for name in counts} == counts


def test_linear_transpose_computes_nothing_of_the_forward_pass():
    m = np.ones((3, 4), np.float32)
    back = xs.linear_transpose(lambda x: x @ m, xs.ShapeDtypeStruct((3,), "float32"))
    names = [e.primitive.name for e in xs.make_jaxpr(lambda c: back(c))(np.ones(4, np.float32)).eqns]
    assert names.count("dot_general") == 1


# What is not linear -------------------------------------------------------------------------------------------------


def divided(x):
    y = 2.0 * x
    return 1.0 / y


def squared(x):
    return xs.jit(lambda y: y * y)(x) + x


def compared(x):
    return jnp.where(x > 0, x, 2 * x)


def indexed(x):
    return jnp.floor(x * 0.5)


@pytest.mark.parametrize(
    ("function", "line", "words"),
    [
        (divided, 2, ["div is not linear in operand 1"]),
        (squared, 1, ["mul of operands that both depend on the arguments is not linear", "squared"]),
        (compared, 1, ["gt is not linear", "compared"]),
        (indexed, 1, ["floor is not linear"]),
    ],
)
def test_linear_transpose_names_the_line_that_is_not_linear(function, line, words):
    with pytest.raises(NotImplementedError) as caught:
        xs.linear_transpose(function, 1.0)
    message = str(caught.value)
    place = function.__code__.co_firstlineno + line
    assert f"test_differentiation_api.py:{place}" in message
    assert all(word in message for word in [*words, f"in {function.__name__} (defined at", "vjp"]), message


def test_linear_transpose_takes_jitted_functions_with_results_that_are_constant():
    function = xs.jit(lambda x, c=3.0: {"x": 2 * x, "c": x * 0 + jnp.sin(c)})
    (back,) = xs.linear_transpose(lambda x: function(x)["x"], 1.0)(3.0)
    assert float(back) == 6.0


# Integers -----------------------------------------------------------------------------------------------------------


def test_gradients_of_integers_are_float0_arrays_of_their_shape():
    p = {"x": np.float32(2), "n": np.arange(3), "flag": True}
    found = xs.grad(lambda p: p["x"] * jnp.sum(p["n"]), allow_int=True)(p)
    assert float(found["x"]) == 3.0
    assert (found["n"].dtype, found["n"].shape) == (float0, (3,))
    assert (found["flag"].dtype, found["flag"].shape) == (float0, ())


# test_util ----------------------------------------------------------------------------------------------------------

V = np.float32([0.5, -1.2, 2.0])

RIGHT = [
    (lambda x, y: jnp.sin(x) * y, (V, 2.0), 3),
    (lambda d: {"a": jnp.sin(d["x"]) * d["y"][0], "n": d["n"]}, ({"x": V, "y": [3.0], "n": 4},), 2),
    (lambda x, i: x[i] ** 2, (V, 1), 2),
    (lambda x: x**2, (1.0 + 2.0j,), 2),
    (jnp.abs, (1.0 + 2.0j,), 2),
    (jnp.sin, (np.float16([0.5, 1.0]),), 2),
    (lambda x: jnp.round(x).astype(int), (V,), 2),
    (lambda x, y: (x * y, None), (V, V[0]), 2),
    (lambda x: x * 1e4, (np.float32([3e4]),), 1),
]


@pytest.mark.parametrize("row", range(len(RIGHT)))
def test_check_grads_passes_right_derivatives(row):
    function, args, order = RIGHT[row]
    check_grads(function, args, order)


def test_check_grads_is_sharp_in_double_precision():
    with xs.enable_x64():
        x = np.float64([0.3, -0.7])
        check_grads(lambda x, y: jnp.sin(x) * y, (x, np.float64(3)), 3)
        check_grads(lambda x: jnp.exp(x), (x,), 1, rtol=1e-9, atol=1e-9)
        with pytest.raises(AssertionError):
            check_grads(lambda x: x + 1e-4 * lax.stop_gradient(x), (x,), 1)


WRONG = [
    (lambda x: lax.stop_gradient(x) * x, (V,), 1, ("fwd", "rev"), ["order 1 (fwd)", "the tangent", "entry"]),
    (lambda x: lax.stop_gradient(x) * x, (V,), 1, ("rev",), ["order 1 (rev)", "argument 0"]),
    (lambda x, y: {"k": x * y * lax.stop_gradient(y)}, (V, V), 1, ("fwd",), ["['k']", "entry"]),
    (lambda x, y: x * y * lax.stop_gradient(y), (V, V), 1, ("rev",), ["argument 1"]),
    (lambda x: x**3 / 3 + stopped_at_first(x), (V,), 2, ("fwd",), ["order 2 (fwd over fwd)"]),
    (lambda x: x**3 / 3 + stopped_at_first(x), (V,), 2, ("rev",), ["order 2 (rev over rev)"]),
    (lambda x: jnp.where(x > 0.1, jnp.sqrt(jnp.maximum(x, 0.0)), 0.0), (V * 0,), 1, ("rev",), None),
]


def stopped_at_first(x):
    """x² with the right first derivative, and the wrong second."""
    slope = lax.stop_gradient(2 * x)
    return lax.stop_gradient(x * x) + slope * (x - lax.stop_gradient(x))


@pytest.mark.parametrize("row", range(len(WRONG)))
def test_check_grads_catches_wrong_derivatives(row):
    function, args, order, modes, words = WRONG[row]
    if words is None:  # the value is constant there, and its derivative nan: 0 · inf
        words = ["nan"]
    with pytest.raises(AssertionError) as caught:
        check_grads(function, args, order, modes)
    assert all(word in str(caught.value) for word in [*words, "found", "expected", "rtol"]), str(caught.value)
    if order > 1:
        check_grads(function, args, order - 1, modes)


def cube(x, y):
    return x**3 * y


WRONG_RULES = [
    (check_jvp, lambda p, t: xs.jvp(lambda x, y: x**2 * y, p, t), "the result in the jvp of cube"),
    (check_jvp, lambda p, t: (cube(*p), t[0] + t[1]), "the tangent in the jvp of cube"),
    (check_jvp, lambda p, t: (cube(*p), 0.999 * xs.jvp(cube, p, t)[1]), None),
    (check_jvp, lambda p, t: (cube(*p), (t[0],)), "structure"),
    (check_jvp, lambda p, t: (cube(*p), V), "shape"),
    (check_vjp, lambda x, y: (x * y, xs.vjp(cube, x, y)[1]), "the result in the vjp of cube"),
    (check_vjp, lambda x, y: (cube(x, y), lambda c: (c * x**2 * y, c * x**3)), "argument 0"),
    (check_vjp, lambda x, y: (cube(x, y), lambda c: (3 * c * x**2 * y, c * x**2)), "argument 1"),
    (check_vjp, lambda x, y: (cube(x, y), lambda c: c), "structure"),
]


@pytest.mark.parametrize("row", range(len(WRONG_RULES)))
def test_check_jvp_and_check_vjp_catch_wrong_rules(row):
    check, rule, words = WRONG_RULES[row]
    if words is None:  # an error of a thousandth is within single precision's reach, and not beyond a sharper limit
        check(cube, rule, (1.5, 2.0))
        with xs.enable_x64(), pytest.raises(AssertionError):
            check(cube, rule, (np.float64(1.5), np.float64(2.0)))
        return
    with pytest.raises(AssertionError, match=re.escape(words)):
        check(cube, rule, (1.5, 2.0))


def test_check_jvp_and_check_vjp_pass_right_rules_and_take_limits():
    check_jvp(cube, lambda p, t: xs.jvp(cube, p, t), (1.5, 2.0))
    check_vjp(cube, lambda *p: xs.vjp(cube, *p), (1.5, 2.0), eps=1e-3)
    check_vjp(cube, lambda x, y: (cube(x, y), lambda c: (c, c)), (1.5, 2.0), atol=100.0)
    with pytest.raises(AssertionError, match="my rule"):
        check_jvp(cube, lambda p, t: (cube(*p), t[0]), (1.5, 2.0), err_msg="my rule")


def test_check_grads_says_what_it_takes():
    with pytest.raises(ValueError, match="'fwd' and 'rev'"):
        check_grads(jnp.sin, (1.0,), 1, modes=("backwards",))
    with pytest.raises(TypeError, match="tuple"):
        check_grads(jnp.sin, V, 1)
    check_grads(jnp.sin, (1.0,), 1, modes="rev")


@pytest.mark.parametrize(
    "derivative",
    [
        lambda x: xs.grad(jnp.sin)(x),
        lambda x: xs.jit(xs.grad(jnp.sin))(x),
        lambda x: xs.grad(xs.grad(jnp.sin))(x),
        lambda x: xs.grad(lambda y: np.float32(2) * y)(x),
        lambda x: xs.grad(lambda y: 3.0)(x),
        lambda x: xs.jvp(jnp.sin, (x,), (1.0,))[1],
        lambda x: xs.vjp(jnp.sin, x)[1](1.0)[0],
        lambda x: xs.linearize(jnp.sin, x)[1](1.0),
    ],
)
def test_the_derivative_by_a_python_number_gives_way_as_the_number_does(derivative):
    assert derivative(1.0).weak_type
    assert (derivative(1.0) * jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16
    assert not derivative(jnp.float32(1.0)).weak_type
