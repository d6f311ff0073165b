"""Products of Householder reflections, of which the QR factorization consists."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...ir.avals import ShapedArray, make_aval
from ...trace.bind import bind, bind1
from ...trace.source import here
from ...xla.mlir import lapack
from ...xla.mlir.solver_calls import call_column_major, call_xla_factorization
from ..operand_values import aval, typed_scalar
from ..slicing import pad, slice_in_dim
from .matrices import adjoint, product
from .matrix_stacks import MatrixStackOperation, emit_function, emit_identities, emit_zeros, require_matrices


def reflection_avals(a: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
    """Return the types of the results of :class:`Geqrf` for an operand of type ``a``: reflections and factors."""
    (*lead, m, n) = a.shape
    return make_aval(a.shape, a.dtype), make_aval((*lead, min(m, n)), a.dtype)


class Geqrf(MatrixStackOperation, name="geqrf"):
    """R in the upper triangle, the Householder reflections whose product is Q below it, and their factors."""

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a)
        return list(reflection_avals(a))

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        if not a.size:
            return [emit_zeros(builder, out) for out in outs]
        self.require_library(builder)
        return emit_geqrf(builder, operands[0], a)


def emit_geqrf(builder: Any, x: Any, a: ShapedArray) -> list[Any]:
    """Emit the library call of :class:`Geqrf` for the MLIR value ``x`` of type ``a``; return its two results."""
    types = reflection_avals(a)
    if builder.platform == "tpu":
        return call_xla_factorization(builder, "Qr", [x], types)
    if builder.platform == "cpu":
        return lapack.call_lapack(builder, "geqrf", [x], [a], types, a.ndim - 2, None, {0: 0})
    return call_column_major(builder, "cusolver_geqrf_ffi", [x], [a], types, a.ndim - 2, None, {0: 0})


def emit_householder_product(
    builder: Any, operands: Sequence[Any], in_avals: Sequence[ShapedArray], out: ShapedArray
) -> list[Any]:
    """Emit the library call of :class:`HouseholderProduct`; return its result in a list.

    ``operands`` are the MLIR values of reflections and factors, ``in_avals`` their types, ``out`` is the result's type.
    """
    if builder.platform == "tpu":
        return call_xla_factorization(builder, "ProductOfElementaryHouseholderReflectors", operands, [out])
    if builder.platform == "cpu":
        return lapack.call_lapack(builder, "orgqr", operands, in_avals, [out], out.ndim - 2, None, {0: 0})
    return call_column_major(builder, "cusolver_orgqr_ffi", operands, in_avals, [out], out.ndim - 2, None, {0: 0})


def geqrf(a: Any) -> tuple[Any, Any]:
    """Return a QR factorization as Householder reflections, for matrices of shape ``(…, m, n)``.

    Returns an array of that shape with R in the upper triangle and the reflections whose product is Q below it, and the
    factors of the reflections, ``(…, min(m, n))``.
    """
    packed, factors = bind(Geqrf.instance, a)
    return packed, factors


class HouseholderProduct(MatrixStackOperation, name="householder_product"):
    """First columns of the product of Householder reflections, as many as the operand has."""

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        a, taus = operands
        require_matrices(self.name, a)
        (*lead, m, n) = a.shape
        if m < n:
            raise ValueError(f"householder_product takes matrices of at least as many rows as columns, got {a.shape}")
        if taus.dtype != a.dtype:
            raise TypeError(f"householder_product takes operands of one dtype, got {a.dtype.name}, {taus.dtype.name}")
        if taus.ndim != a.ndim - 1 or taus.shape[:-1] != tuple(lead) or taus.shape[-1] > n:
            raise ValueError(
                f"householder_product takes a factor for each reflection, at most {n} of them for each matrix, got "
                f"shapes {a.shape} and {taus.shape}{here()}"
            )
        return [make_aval(a.shape, a.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a, taus), (out,) = builder.in_avals, builder.out_avals
        if not a.size or not taus.size:
            return [emit_identities(builder, out)]
        self.require_library(builder)
        return emit_householder_product(builder, operands, [a, taus], out)


def householder_product(a: Any, taus: Any) -> Any:
    """Return the product of Householder reflections ``I - tau v vᴴ``, whose vectors are below the diagonal of ``a``.

    ``a`` has shape ``(…, m, n)`` with m ≥ n, ``taus`` ``(…, k)``; the result has the first n columns of the product. It
    has no derivative, as in JAX. Raises ValueError for shapes that do not fit.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.linalg.householder_product(jnp.array([[1.0], [1.0]]), jnp.array([1.0])))
    [[ 0.]
     [-1.]]
    """
    return bind1(HouseholderProduct.instance, a, taus)


def first_columns(x: Any, count: int) -> Any:
    """Return the first ``count`` columns of matrices, or all if there are fewer."""
    axis = len(aval(x).shape) - 1
    return slice_in_dim(x, 0, count, axis=axis) if aval(x).shape[axis] > count else x


class Ormqr(MatrixStackOperation, name="ormqr"):
    """Q C or C Q, where Q (or its adjoint) is a product of Householder reflections that is not formed explicitly."""

    left: bool
    transpose: bool

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        a, taus, c = operands
        for matrix in (a, c):
            require_matrices(self.name, matrix)
        if len({a.dtype, taus.dtype, c.dtype}) > 1:
            raise TypeError(f"ormqr takes operands of one dtype, got {a.dtype.name}, {taus.dtype.name}, {c.dtype.name}")
        if not taus.shape or not a.shape[:-2] == taus.shape[:-1] == c.shape[:-2] or taus.shape[-1] > min(a.shape[-2:]):
            raise ValueError(
                f"ormqr takes stacks with the same leading axes, and at most min(m, n) factors of reflections, got "
                f"shapes {a.shape}, {taus.shape} and {c.shape}{here()}"
            )
        if c.shape[-2 if self.left else -1] != a.shape[-2]:
            raise ValueError(f"ormqr: Q has {a.shape[-2]} rows, which does not fit a matrix of shape {c.shape}{here()}")
        return [make_aval(c.shape, c.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        _, taus, c = builder.in_avals
        if not c.size or not taus.size:
            return [operands[2]]
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return self._by_library(builder, operands, functools.partial(lapack.call_lapack, builder, "ormqr"))

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return self._by_library(builder, operands, functools.partial(call_column_major, builder, "cusolver_ormqr_ffi"))

    def on_tpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return emit_function(builder, self.multiply_explicitly, operands, builder.in_avals)

    def _by_library(self, builder: Any, operands: Sequence[Any], call: Callable[..., list[Any]]) -> list[Any]:
        options = {name: "true" if getattr(self, name) else "false" for name in ("left", "transpose")}
        out = builder.out_avals
        return call(operands, builder.in_avals, out, out[0].ndim - 2, options, {0: 2})

    def multiply_explicitly(self, a: Any, taus: Any, c: Any) -> list[Any]:
        """Return the product with an explicit Q, as a list of one array."""
        m, n = aval(a).shape[-2:]
        missing = [*[(0, 0, 0)] * (len(aval(a).shape) - 1), (0, max(m - n, 0), 0)]
        vectors = pad(first_columns(a, min(m, n)), typed_scalar(0, aval(a).dtype), missing)
        q = bind1(HouseholderProduct.instance, vectors, taus)
        q = adjoint(q) if self.transpose else q
        return [product(q, c) if self.left else product(c, q)]


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """Return ``Q c`` (``left``) or ``c Q`` for a Q given by reflections; ``transpose`` takes its adjoint instead.

    ``a``, ``(…, m, n)``, and ``taus``, ``(…, k)``, are returned by ``numpy.linalg.qr(x, mode="raw")``, but ``a`` is
    transposed; ``c`` has m rows (``left``) or columns. It has no derivative, as in JAX. Raises ValueError for shapes
    that do not fit.

    >>> from xlascope import lax, numpy as jnp
    >>> x = jnp.array([[3.0, 1.0], [4.0, 2.0]])
    >>> a, taus = jnp.linalg.qr(x, mode="raw")
    >>> print(jnp.abs(lax.linalg.ormqr(a.mT, taus, x, transpose=True)).round(3))
    [[5.  2.2]
     [0.  0.4]]
    """
    return bind1(Ormqr(bool(left), bool(transpose)), a, taus, c)
