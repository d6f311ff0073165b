"""Transformations of transformations: whatever the order, the numbers are those of the plain function."""

import numpy as np
import pytest

import xlascope as xs
from xlascope.operations import (
    arithmetic,
    comparisons,
    dot_product,
    exponentials,
    shapes,
    tangent_arithmetic,
    trigonometry,
)
from xlascope.transforms.evaluate import evaluate

X = np.float32([0.3, -0.7, 1.1])
W = np.float32([[0.2, -0.4, 0.6], [0.5, 0.1, -0.3]])


def total(x):
    return shapes.reduce_sum(x, tuple(range(len(x.shape))))


def matvec(w, x):
    return dot_product.dot_general(w, x, (((1,), (0,)), ((), ())))


def near(found, wanted, tolerance=2e-5):
    for x, y in zip(xs.tree_util.tree_leaves(found), xs.tree_util.tree_leaves(wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


# The same function, flat and with nested calls -----------------------------------------------------------------------


def flat(x, w):
    hidden = trigonometry.tanh(matvec(w, x))
    scaled = arithmetic.mul(hidden, total(arithmetic.square(x)))
    return arithmetic.add(total(scaled), total(trigonometry.sin(arithmetic.mul(x, 2.0)))), hidden


inner = xs.jit(lambda w, x: trigonometry.tanh(matvec(w, x)))
middle = xs.jit(lambda w, x: arithmetic.mul(inner(w, x), total(arithmetic.square(x))))


@xs.jit
def nested(x, w):
    doubled = xs.jit(lambda z: trigonometry.sin(arithmetic.mul(z, 2.0)))
    return arithmetic.add(total(middle(w, x)), total(doubled(x))), inner(w, x)


TRANSFORMED = {
    "itself": lambda f: f(X, W),
    "jvp": lambda f: xs.jvp(f, (X, W), (X, 0.5 * W)),
    "jvp of one": lambda f: xs.jvp(lambda x: f(x, W), (X,), (X,)),
    "linearize": lambda f: xs.linearize(f, X, W)[1](X, W),
    "vjp": lambda f: xs.vjp(f, X, W)[1]((np.float32(1.5), np.float32([2, 3]))),
    "vjp of one result": lambda f: xs.vjp(lambda x, w: f(x, w)[0], X, W)[1](np.float32(1.5)),
    "grad": lambda f: xs.grad(f, (0, 1), has_aux=True)(X, W),
    "vmap": lambda f: xs.vmap(f, (0, None))(np.stack([X, 2 * X]), W),
    "vmap of both": lambda f: xs.vmap(f, (1, 2))(np.stack([X, 2 * X], 1), np.stack([W, -W], 2)),
    "vmap of grad": lambda f: xs.vmap(xs.grad(lambda x: f(x, W)[0]))(np.stack([X, 2 * X])),
    "grad of vmap": lambda f: xs.grad(lambda b: total(xs.vmap(lambda x: f(x, W)[0])(b)))(np.stack([X, 2 * X])),
    "hessian": lambda f: xs.hessian(lambda x: f(x, W)[0])(X),
    "jacfwd": lambda f: xs.jacfwd(lambda x: f(x, W)[1])(X),
    "jacrev": lambda f: xs.jacrev(lambda x: f(x, W)[1])(X),
    "grad of grad": lambda f: xs.grad(lambda x: total(arithmetic.square(xs.grad(lambda z: f(z, W)[0])(x))))(X),
    "jvp of grad": lambda f: xs.jvp(xs.grad(lambda z: f(z, W)[0]), (X,), (X,)),
    "grad of jvp": lambda f: xs.grad(lambda x: xs.jvp(lambda z: f(z, W)[0], (x,), (X,))[1])(X),
}  # fmt: skip


@pytest.mark.parametrize("what", TRANSFORMED)
@pytest.mark.parametrize("outer", ["plain", "jit"])
def test_nested_calls_are_transformed_like_the_flat_function(what, outer):
    transform = TRANSFORMED[what]
    wanted = transform(flat)
    found = transform(nested) if outer == "plain" else xs.jit(lambda: transform(nested))()
    near(found, wanted)


@pytest.mark.parametrize("f", [flat, nested])
def test_evaluating_the_jaxpr_is_calling_the_function(f):
    near(evaluate(xs.make_jaxpr(f)(X, W), X, W), f(X, W))


# Perturbations are not confused ---------------------------------------------------------------------------------------


def test_the_inner_derivative_does_not_see_the_outer_variable():
    assert float(xs.grad(lambda x: arithmetic.mul(x, xs.grad(lambda y: arithmetic.add(x, y))(1.0)))(1.0)) == 1.0
    assert (
        float(
            xs.jvp(
                lambda x: arithmetic.mul(x, xs.jvp(lambda y: arithmetic.add(x, y), (1.0,), (1.0,))[1]), (1.0,), (1.0,)
            )[1]
        )
        == 1.0
    )


def test_the_inner_derivative_depends_on_the_outer_variable():
    # d/dx [x · d/dy (x y²) at y=2] = d/dx 4x² = 8x
    for inner in (xs.grad, xs.jacfwd, xs.jacrev):
        f = lambda x, d=inner: arithmetic.mul(x, d(lambda y: arithmetic.mul(x, arithmetic.mul(y, y)))(2.0))  # noqa: E731
        assert float(xs.grad(f)(3.0)) == 24.0
        assert float(xs.jit(xs.grad(f))(3.0)) == 24.0
        assert float(xs.jvp(f, (3.0,), (1.0,))[1]) == 24.0


def test_mapping_inside_differentiation_inside_mapping():
    def f(x):  # sum over k of (k x)² = 5 x²; its derivative is 10 x
        return total(xs.vmap(lambda k: arithmetic.square(arithmetic.mul(k, x)))(np.float32([0, 1, 2])))

    found = xs.vmap(xs.grad(xs.jit(f)))(np.float32([1, 2]))
    near(found, np.float32([10, 20]))


# Orders ---------------------------------------------------------------------------------------------------------------


def test_the_third_derivative_of_tanh():
    assert f"{float(xs.grad(xs.grad(xs.grad(trigonometry.tanh)))(1.0)):.6f}" == "0.621627"


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("kinds", ["r", "f", "jr", "rf", "fr", "jfjr"])
def test_derivatives_of_any_order_in_any_mode(order, kinds):
    def forward(g):
        return lambda x: xs.jvp(g, (x,), (np.float32(1),))[1]

    f = lambda x: arithmetic.mul(exponentials.exp(arithmetic.mul(x, 2.0)), trigonometry.sin(x))  # noqa: E731
    for step in range(order):
        for kind in kinds if step == 0 else kinds[-1:]:
            f = {"r": xs.grad, "f": forward, "j": xs.jit}[kind](f)
    # the steps taken: one for each letter that is no jit, then the last letter again
    taken = sum(kind != "j" for kind in kinds) + order - 1
    exact = np.imag((2 + 1j) ** taken * np.exp((2 + 1j) * 0.7))
    assert abs(float(f(np.float32(0.7))) - exact) < 1e-4 * abs(exact)


def test_hessians_are_symmetric_and_agree_in_all_modes():
    def f(x):
        return arithmetic.mul(
            total(trigonometry.sin(arithmetic.mul(x, np.float32([1, 2, 3])))),
            total(exponentials.exp(arithmetic.mul(x, 0.3))),
        )

    matrices = [
        xs.hessian(f)(X),
        xs.jacfwd(xs.jacfwd(f))(X),
        xs.jacrev(xs.jacrev(f))(X),
        xs.jacrev(xs.jacfwd(f))(X),
        xs.jit(xs.hessian(xs.jit(f)))(X),
    ]
    near(matrices[0], np.asarray(matrices[0]).T)
    for other in matrices[1:]:
        near(other, matrices[0])


def test_jvp_of_vjp_and_vjp_of_jvp_are_transposed():
    def hessian_vector(v):
        return xs.jvp(xs.grad(lambda x: flat(x, W)[0]), (X,), (v,))[1]

    def vector_hessian(v):
        return xs.vjp(xs.grad(lambda x: flat(x, W)[0]), X)[1](v)[0]

    for v in np.eye(3, dtype=np.float32):
        near(hessian_vector(v), vector_hessian(v))


# Mapping --------------------------------------------------------------------------------------------------------------


def test_mapping_twice_is_the_outer_product():
    f = xs.vmap(xs.vmap(lambda x, y: arithmetic.sub(exponentials.exp(x), y), (None, 0)), (0, None))
    near(f(X, W[0]), np.exp(X)[:, None] - W[0])
    near(xs.jit(f)(X, W[0]), np.exp(X)[:, None] - W[0])


def test_mapping_a_grad_of_a_jit_of_a_map():
    def loss(x):
        return total(xs.jit(xs.vmap(lambda row: arithmetic.mul(trigonometry.sin(row), row)))(x))

    b = np.stack([W, 2 * W, -W])
    near(xs.vmap(xs.grad(loss))(b), np.sin(b) + b * np.cos(b))


@pytest.mark.parametrize("in_axes", [(0, None), (None, 1), (1, 0), (-1, -1)])
@pytest.mark.parametrize("out_axes", [0, 1, -1])
def test_mapped_calls_put_axes_where_they_are_wanted(in_axes, out_axes):
    f = xs.jit(lambda x, y: (dot_product.dot_general(x, y, (((1,), (0,)), ((), ()))), shapes.transpose(x, (1, 0))))
    random = np.random.default_rng(0)
    mapped_shapes = [[2, 3], [3, 2]]
    for shape, axis in zip(mapped_shapes, in_axes, strict=True):
        if axis is not None:
            shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 4)
    x, y = (random.normal(size=shape).astype(np.float32) for shape in mapped_shapes)
    found = xs.vmap(f, in_axes, out_axes)(x, y)
    picked = [
        [z if axis is None else np.take(z, k, axis) for z, axis in zip((x, y), in_axes, strict=True)] for k in range(4)
    ]
    near(found[0], np.stack([p @ q for p, q in picked], out_axes))
    near(found[1], np.stack([p.T for p, _ in picked], out_axes))


def test_a_call_whose_results_do_not_depend_on_what_is_mapped():
    f = xs.jit(lambda x, y: (tangent_arithmetic.neg(y), arithmetic.add(x, y), 2.0))
    found = xs.vmap(f, (0, None))(X, np.float32(1))
    near(found, (np.float32([-1] * 3), X + 1, np.float32([2] * 3)))
    near(xs.vmap(lambda x: xs.jit(trigonometry.sin)(np.float32(1)))(X), np.sin(np.float32([1, 1, 1])))


# What has ended, and what fails ---------------------------------------------------------------------------------------


def test_a_failing_function_leaves_no_trace_behind():
    def bad(x):
        raise RuntimeError("no")

    for transform in (xs.jit(bad), xs.grad(bad), xs.vmap(bad), xs.make_jaxpr(bad), xs.jit(xs.vmap(xs.grad(bad)))):
        with pytest.raises(RuntimeError, match="no"):
            transform(X)
        near(tangent_arithmetic.neg(X), -X)


@pytest.mark.parametrize("transform", [xs.jit, xs.vmap, lambda f: xs.jit(xs.vmap(f))])
def test_a_value_that_left_its_function_says_so(transform):
    kept = []
    transform(lambda x: kept.append(x) or x)(X)
    with pytest.raises(xs.errors.UnexpectedTracerError, match="after the function"):
        arithmetic.add(kept[0], 1.0)


def test_python_control_flow_on_values_works_under_grad_alone():
    def absolute(x):
        return x if comparisons.gt(x, 0.0) else tangent_arithmetic.neg(x)

    assert float(xs.grad(absolute)(-3.0)) == -1.0
    assert float(xs.grad(xs.grad(lambda x: arithmetic.mul(absolute(x), x)))(-3.0)) == -2.0
    with pytest.raises(xs.errors.TracerBoolConversionError, match=r"test_nesting\.py"):
        xs.jit(lambda x: x if comparisons.gt(x, 0.0) else tangent_arithmetic.neg(x))(-3.0)
