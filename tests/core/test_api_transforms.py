"""The transformations as users call them, alone and nested: against jax, against differences, and the sources."""

import functools
import inspect
from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.errors import TracerBoolConversionError, UnexpectedTracerError
from xlascope.ir.checker import check_jaxpr
from xlascope.trace.state import STATE

PROGRAMS = Path(__file__).with_name("nestings.py")


# Against jax --------------------------------------------------------------------------------------------------------


def same(found, expected, tolerance=2e-5):
    found, structure = xs.tree.flatten_with_path(found)
    assert structure == xs.tree.structure(expected)
    for (path, x), y in zip(found, xs.tree.leaves(expected), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype), xs.tree.keystr(path)
        if x.dtype.kind != "V":
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance, err_msg=xs.tree.keystr(path))


@pytest.mark.parametrize("what", ["nested", "trees"])
def test_what_jax_gives(what, jax_says, programs):
    expected = jax_says(PROGRAMS, what)
    found = getattr(programs(PROGRAMS), what)(xs)
    same(found, expected)


@pytest.mark.parametrize("name", ["tanh", "polynomial", "table", "norm"])
def test_derivatives_are_those_of_differences(name, programs):
    with xs.enable_x64():
        f = programs(PROGRAMS).functions(xs)[name]
        x, step = np.float64(0.4), 1e-6
        difference = (f(x + step) - f(x - step)) / (2 * step)
        for slope in (xs.grad(f)(x), xs.jacfwd(f)(x), xs.jit(xs.grad(f))(x), xs.jvp(f, (x,), (np.float64(1),))[1]):
            np.testing.assert_allclose(slope, difference, rtol=1e-7)
        second = (xs.grad(f)(x + step) - xs.grad(f)(x - step)) / (2 * step)
        np.testing.assert_allclose(xs.hessian(f)(x), second, rtol=1e-6)


def test_programs_of_all_nestings_are_well_formed(programs):
    module = programs(PROGRAMS)
    functions = module.functions(xs)
    for name, chain in list(module.chains())[::3]:
        f = functions[name]
        for step in chain:
            f = module.wrapped(xs, step, f)
        check_jaxpr(xs.make_jaxpr(f)(0.7))


# The sources --------------------------------------------------------------------------------------------------------


def test_the_values_that_the_sources_print():
    assert str(xs.grad(jnp.tanh)(1.0)).startswith("0.4199743")  # jax 0.10.2 prints 0.41997433, nearer to the true value
    assert str(xs.grad(xs.grad(xs.grad(jnp.tanh)))(1.0)) == "0.62162673"


def abs_val(x):
    if x > 0:
        return x
    return -x


def test_control_flow_by_value_works_under_grad_and_vjp():
    assert float(xs.grad(abs_val)(1.0)) == 1.0
    assert float(xs.grad(abs_val)(-1.0)) == -1.0
    y, pullback = xs.vjp(abs_val, -3.0)
    assert float(y) == 3.0 and float(pullback(2.0)[0]) == -2.0
    assert float(xs.grad(xs.grad(lambda x: abs_val(x) ** 3))(-2.0)) == 12.0
    assert float(xs.jvp(abs_val, (-1.0,), (1.0,))[1]) == -1.0


@pytest.mark.parametrize("transform", [xs.jit, xs.vmap, lambda f: xs.jit(xs.grad(f)), lambda f: xs.vmap(xs.grad(f))])
def test_control_flow_by_value_cannot_work_under_jit_and_vmap(transform):
    with pytest.raises(TracerBoolConversionError, match=r"numpy\.where") as caught:
        transform(abs_val)(np.array([1.0, 2.0]))
    message = str(caught.value)
    line = abs_val.__code__.co_firstlineno + 1
    assert f"{__file__}:{line}" in message and "abs_val" in message
    assert "where" in message and ("static" in message) == ("vmap" not in message)


# Perturbations ------------------------------------------------------------------------------------------------------


def test_nested_derivatives_do_not_confuse_their_perturbations():
    assert float(xs.grad(lambda x: x * xs.grad(lambda y: x + y)(1.0))(1.0)) == 1.0
    assert float(xs.grad(lambda x: x * xs.grad(lambda y: x * y)(1.0))(3.0)) == 6.0
    assert float(xs.grad(lambda x: xs.grad(lambda y: x)(x) * x)(1.0)) == 0.0


# Traces end ---------------------------------------------------------------------------------------------------------

KEPT = []


def keep(x):
    KEPT.append(x * 2)
    return x * 3


@pytest.mark.parametrize(
    "transform",
    [xs.jit, xs.vmap, xs.grad, xs.make_jaxpr, lambda f: lambda x: xs.jvp(f, (x,), (x,)), lambda f: xs.jit(xs.grad(f))],
    ids=["jit", "vmap", "grad", "make_jaxpr", "jvp", "jit(grad)"],
)
@pytest.mark.parametrize(
    "use", [lambda x: x + 1, lambda x: jnp.sin(x), lambda x: xs.jit(jnp.sin)(x), lambda x: xs.jit(lambda y: y + x)(1.0)]
)
def test_a_tracer_that_leaked_says_so(transform, use):
    KEPT.clear()
    f = lambda x: keep(x)  # noqa: E731  (a new function, so that it is traced again)
    transform(f)(np.arange(2.0) if transform is xs.vmap else 1.0)
    with pytest.raises(UnexpectedTracerError, match="Return the value"):
        use(KEPT[0])
    assert STATE.trace is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SystemExit])
@pytest.mark.parametrize(
    "transform",
    [
        *(xs.jit, xs.vmap, xs.grad, xs.make_jaxpr, xs.jacfwd, xs.jacrev, xs.hessian),
        lambda f: xs.jit(xs.vmap(xs.grad(f))),
        lambda f: lambda x: xs.linear_transpose(f, x)(1.0),
        lambda f: lambda x: xs.jvp(f, (x,), (x,)),
        lambda f: lambda x: xs.linearize(f, x)[1](x),
    ],
)
def test_a_function_that_raises_leaves_no_trace_behind(transform, error):
    stop = True

    def f(x):
        y = jnp.sin(x)
        if stop:
            raise error
        return jnp.sum(y)

    x = np.arange(3.0, dtype="float32")
    with pytest.raises(error):
        transform(f)(x)
    assert STATE.trace is None and STATE.origin is None
    stop = False
    assert float(xs.jit(f)(x)) == pytest.approx(float(np.sin(x).sum()))


# Errors of vmap -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("in_axes", "arguments", "text"),
    [
        ((0, 0), (np.ones(2), np.ones(3)), "different sizes: x: 2, y: 3"),
        ((None, None), (1.0, 2.0), "at least one mapped argument"),
        ((0,), (np.ones(2), 1.0), "in_axes has 1 entry, but f gets 2 arguments, x and y"),
        ((0, 0), (np.ones(2), 1.0), "y is a scalar and has no axis 0"),
        ((2, None), (np.ones((2, 3)), 1.0), "x has shape (2, 3) and has no axis 2"),
        (({"a": 0}, None), (np.ones(2), 1.0), "has to be a prefix"),
    ],
)
def test_vmap_says_what_does_not_fit(in_axes, arguments, text):
    def f(x, y):
        return x + y

    with pytest.raises((ValueError, TypeError)) as caught:
        xs.vmap(f, in_axes=in_axes)(*arguments)
    assert text in str(caught.value)


def test_vmap_says_when_a_shared_result_differs():
    with pytest.raises(ValueError, match="out_axes is None"):
        xs.vmap(lambda x: x, out_axes=None)(np.ones(3))


# What they are called -----------------------------------------------------------------------------------------------


class Model:
    def __call__(self, x):
        return x


def weighted(weight, x):
    """Weighs."""
    return weight * x


NAMED = {
    "function": (weighted, "weighted", ["weight", "x"]),
    "partial": (functools.partial(weighted, 2.0), "weighted", ["x"]),
    "partial of a partial": (functools.partial(functools.partial(weighted), 2.0), "weighted", ["x"]),
    "object": (Model(), "Model", ["x"]),
}
MAPS = (xs.grad, xs.value_and_grad, xs.vmap, xs.pmap, xs.jacfwd, xs.jacrev, xs.hessian, xs.make_jaxpr, xs.checkpoint)


@pytest.mark.parametrize("transform", MAPS, ids=lambda transform: transform.__name__)
@pytest.mark.parametrize("fun, name, arguments", NAMED.values(), ids=NAMED)
def test_what_is_transformed_keeps_its_name(transform, fun, name, arguments):
    made = transform(fun)
    assert made.__name__ == name and list(inspect.signature(made).parameters) == arguments
    if name == "weighted":
        assert "Weighs." in made.__doc__


def test_a_program_is_called_as_the_function_in_it():
    text = xs.jit(xs.vmap(xs.grad(functools.partial(weighted, 2.0)))).lower(jnp.ones(3)).as_text()
    assert "module @jit_weighted" in text
