"""Comparison of derivatives with numerical differences: check_jvp, check_vjp, check_grads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..dtypes import float0, is_differentiable
from ..trace.values import aval_of
from .argnames import name_of
from .differentiated_arguments import at
from .differentiation import jvp, vjp
from .tree_adapters import as_array

#: Tolerances and steps by dtype. A central difference errs by the step squared and by the dtype's precision over the
#: step; the steps are near the best between the two.
_TOLERANCE = {
    "bfloat16": 1e-1,
    "float16": 5e-2,
    "float32": 2e-3,
    "complex64": 2e-3,
    "float64": 1e-6,
    "complex128": 1e-6,
}
_STEP = {"bfloat16": 1e-1, "float16": 3e-2, "float32": 5e-3, "complex64": 5e-3, "float64": 1e-5, "complex128": 1e-5}
_ALL_MODES = ("fwd", "rev")


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check ``f_jvp(args, tangents)``, which returns results and tangents of ``f``, in a random direction.

    The tangents are compared with (f(args + step) - f(args - step)) / 2, for a step of size ``eps`` in that
    direction. Defaults of ``atol``, ``rtol`` and ``eps`` depend on the arguments' dtypes. Raises
    AssertionError naming the entry that differs most.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> check_jvp(jnp.sin, lambda xs_, ts: xs.jvp(jnp.sin, xs_, ts), (0.5,))
    """
    label = err_msg or f"the jvp of {name_of(f)}"
    direction = _Direction(args, eps)
    value, change = f_jvp(direction.primals, direction.tangents)
    _compare(f"the result in {label}", f(*direction.primals), value, args, atol, rtol)
    _compare(f"the tangent in {label}", direction.difference(f), change, args, atol, rtol)


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check ``f_vjp(*args)``, which returns the result of ``f`` and its pullback, in a random direction.

    For a random cotangent c and a random direction t, the inner product of c and the derivative of f along t has
    to equal the inner product of the pullback of c and t; see :func:`check_jvp`. Raises AssertionError naming the
    argument if only one is wrong.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> check_vjp(jnp.sin, lambda x: xs.vjp(jnp.sin, x), (0.5,))
    """
    label = err_msg or f"the vjp of {name_of(f)}"
    direction = _Direction(args, eps)
    value, pullback = f_vjp(*direction.primals)
    expected_value = f(*direction.primals)
    _compare(f"the result in {label}", expected_value, value, args, atol, rtol)
    cotangent = _draw_like(expected_value, np.random.default_rng(1))
    received = pullback(cotangent)
    if tree.structure(received) != tree.structure(tuple(args)):
        raise AssertionError(
            f"{label}: the pullback gave a tree of structure {tree.structure(received)} for arguments of structure "
            f"{tree.structure(tuple(args))}{at()}"
        )
    for number, only in direction.iterate_single_arguments():
        expected = _inner_product(cotangent, only.difference(f))
        actual = _inner_product(received, only.tangents)
        label_of_argument = f"cotangent · change and pullback(cotangent) · direction, for argument {number}, in {label}"
        _compare(label_of_argument, np.float64(expected), np.float64(actual), args, atol, rtol)


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = _ALL_MODES,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of ``f`` up to an order, forward ("fwd") and backward ("rev"), by numerical differences.

    Every derivative of order n is that of a derivative of order n - 1, in each of the modes: with both modes and order
    2, forward over forward, forward over reverse and so on. Raises AssertionError saying which is wrong, and where.

    >>> import xlascope.numpy as jnp
    >>> check_grads(lambda x, y: jnp.sin(x * y), (0.5, 2.0), order=2)
    """
    modes = [modes] if isinstance(modes, str) else list(modes)
    unknown = [mode for mode in modes if mode not in _ALL_MODES]
    if unknown or not modes:
        raise ValueError(f"check_grads takes modes out of 'fwd' and 'rev', got {modes}{at()}")
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"check_grads takes the arguments as a tuple, got {type(args).__name__}{at()}")
    _check_order(f, tuple(args), order, modes, (atol, rtol, eps), "", name_of(f))


def _check_order(
    f: Callable[..., Any],
    args: Any,
    order: int,
    modes: Sequence[str],
    limits: tuple[Any, Any, Any],
    above: str,
    name: str,
) -> None:
    """Check the derivatives of ``f`` in each of the modes, and, recursively, their derivatives up to ``order``.

    ``limits`` are ``atol``, ``rtol`` and ``eps``. ``above`` names the derivatives that were taken already
    ("fwd over rev"), ``name`` the user's function, both for messages.
    """
    if order < 1:
        return
    for mode in modes:
        nested = f"{mode} over {above}" if above else mode
        nested_order = nested.count(" over ") + 1
        message = f"the derivative of order {nested_order} ({nested}) of {name}"
        if mode == "fwd":
            check_jvp(f, _forward_of(f), args, *limits, err_msg=message)
            derivative = _directional_derivative(f, args)
        else:
            check_vjp(f, _reverse_of(f), args, *limits, err_msg=message)
            derivative = _pull_back_random(f, args)
        _check_order(derivative, args, order - 1, modes, limits, nested, name)


def _forward_of(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda primals, tangents: jvp(f, primals, tangents)


def _reverse_of(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *primals: vjp(f, *primals)


def _directional_derivative(f: Callable[..., Any], args: Any) -> Callable[..., Any]:
    """Return the derivative of ``f`` in a random but fixed direction, as a function of the arguments."""
    tangents = _draw_like(args, np.random.default_rng(2))

    def change(*xs: Any) -> Any:
        return _drop_float0(jvp(f, xs, tangents)[1])

    return change


def _pull_back_random(f: Callable[..., Any], args: Any) -> Callable[..., Any]:
    """Return the pullback of a random but fixed cotangent, as a function of the arguments of ``f``."""
    cotangent = _draw_like(f(*args), np.random.default_rng(3))

    def gradient(*xs: Any) -> Any:
        return _drop_float0(vjp(f, *xs)[1](cotangent))

    return gradient


def _drop_float0(tangents: Any) -> list[Any]:
    """Return the leaves of a tree of tangents that are not of dtype float0."""
    return [x for x in tree.leaves(tangents) if aval_of(x).dtype != float0]


class _Direction:
    """Arguments, a random direction, and the two points one step of size ``eps`` before and after the arguments.

    ``eps`` None stands for a step that fits the dtypes. With ``only``, only the argument at that position
    changes. ``tangents`` is the direction between the two points as they are after rounding.
    """

    def __init__(self, args: Sequence[Any], eps: float | None, only: int | None = None) -> None:
        self.args, self.eps = args, eps
        flat, self.structure = tree.flatten(tuple(args))
        avals = [aval_of(x) for x in flat]
        leaf_args = [path[0].idx for path, _ in tree.leaves_with_path(tuple(args))]
        differentiable_avals = [aval for aval in avals if is_differentiable(aval.dtype)]
        self.step = step = eps or max((_STEP[aval.dtype.name] for aval in differentiable_avals), default=1.0)
        random = np.random.default_rng(0)
        points = []
        for x, aval, number in zip(flat, avals, leaf_args, strict=True):
            value = np.asarray(x, aval.dtype)
            if not is_differentiable(aval.dtype):
                same = as_array(value, aval)
                points.append((same, same, same, np.zeros(aval.shape, float0)))
                continue
            wide = _to_double(value)
            change = _draw(random, aval.shape, aval.dtype) * (step if only in (None, number) else 0.0)
            above, below = (wide + change).astype(aval.dtype), (wide - change).astype(aval.dtype)
            tangent = ((_to_double(above) - _to_double(below)) / (2 * step)).astype(aval.dtype)
            points.append((*(as_array(p, aval) for p in (value, above, below)), tangent))
        self.primals, self.above, self.below, self.tangents = (
            self.structure.unflatten([p[i] for p in points]) for i in range(4)
        )

    def iterate_single_arguments(self) -> Iterator[tuple[int, _Direction]]:
        """Yield the position of each differentiable argument, and a direction in which this argument alone changes."""
        for number, argument in enumerate(self.args):
            if any(is_differentiable(aval_of(x).dtype) for x in tree.leaves(argument)):
                yield number, _Direction(self.args, self.eps, number)

    def difference(self, f: Callable[..., Any]) -> Any:
        """Return the derivative of ``f`` in this direction, by a central difference."""

        def slope(high: Any, low: Any) -> Any:
            dtype = aval_of(high).dtype
            if not is_differentiable(dtype):
                return np.zeros(np.shape(high), float0)
            return (_to_double(np.asarray(high)) - _to_double(np.asarray(low))) / (2 * self.step)

        return tree.map(slope, f(*self.above), f(*self.below))


def _to_double(x: Any) -> Any:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _draw(random: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    samples = random.standard_normal(shape)
    return samples + 1j * random.standard_normal(shape) if dtype.kind == "c" else samples


def _draw_like(values: Any, random: np.random.Generator) -> Any:
    """Return a tree of random tangents for a tree of values; those of integers are zeros of dtype float0."""

    def draw_leaf(x: Any) -> Any:
        aval = aval_of(x)
        if not is_differentiable(aval.dtype):
            return np.zeros(aval.shape, float0)
        return np.asarray(_draw(random, aval.shape, aval.dtype)).astype(aval.dtype)

    return tree.map(draw_leaf, values)


def _inner_product(left: Any, right: Any) -> float:
    """Return the real part of the sum of products of two trees' elements, without conjugation."""
    pairs = zip(tree.leaves(left), tree.leaves(right), strict=True)
    products = (
        np.sum(_to_double(np.asarray(x)) * _to_double(np.asarray(y))).real
        for x, y in pairs
        if aval_of(x).dtype != float0
    )
    return float(sum(products, 0.0))


def _compare(
    label: str, expected: Any, actual: Any, args: Sequence[Any], atol: float | None, rtol: float | None
) -> None:
    """Raise AssertionError unless two trees are close, naming the entry that differs most.

    ``label`` names what is compared. ``atol`` and ``rtol`` None stand for tolerances that depend on the
    dtypes of ``args`` and of the results.
    """
    if tree.structure(expected) != tree.structure(actual):
        raise AssertionError(
            f"{label} has structure {tree.structure(actual)}, expected {tree.structure(expected)}{at()}"
        )
    values = [*tree.leaves(tuple(args)), *tree.leaves(actual)]
    limit = max((_TOLERANCE.get(aval_of(x).dtype.name, 0.0) for x in values), default=0.0)
    for (path, x), y in zip(tree.leaves_with_path(expected), tree.leaves(actual), strict=True):
        name = label + (f", at {tree.keystr(path)}" if path else "")
        aval, actual_aval = aval_of(x), aval_of(y)
        if aval.shape != actual_aval.shape:
            raise AssertionError(f"{name}: has shape {actual_aval.shape}, expected {aval.shape}{at()}")
        if aval.dtype == float0 or actual_aval.dtype == float0:
            if aval.dtype != actual_aval.dtype:
                raise AssertionError(f"{name}: only one of them has dtype float0{at()}")
            continue
        _compare_leaf(
            name,
            _to_double(np.asarray(x)),
            _to_double(np.asarray(y)),
            _or_default(atol, limit),
            _or_default(rtol, limit),
        )


def _or_default(value: float | None, default: float) -> float:
    return default if value is None else value


def _compare_leaf(name: str, expected: Any, actual: Any, atol: float, rtol: float) -> None:
    """Raise AssertionError unless two arrays are close, naming the entry that differs most."""
    with np.errstate(invalid="ignore"):
        wrong = ~np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True)
    if not wrong.any():
        return
    with np.errstate(invalid="ignore"):
        distance = np.where(wrong, np.nan_to_num(np.abs(actual - expected), nan=np.inf), -1.0)
    worst = np.unravel_index(int(np.argmax(distance)), wrong.shape)
    entry_text = f" at entry {tuple(map(int, worst))}" if wrong.ndim else ""
    raise AssertionError(
        f"{name}: wrong{entry_text}: found {actual[worst]:.7g}, expected {expected[worst]:.7g} "
        f"({wrong.sum()} of {wrong.size} entries differ, rtol={rtol:g}, atol={atol:g}){at()}"
    )
