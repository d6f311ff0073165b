"""What operations of one family share: elementwise of one operand, elementwise of two, linear ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..dtypes import is_floating
from ..errors import see
from ..ir.avals import ShapedArray, shaped
from ..ir.markers import NOT_MAPPED, ZERO, LinearInput
from ..ir.operation import Operation
from ..ir.sources import user_line, where_text
from ..trace.bind import bind, bind1
from ..trace.values import aval_of
from . import shapes

_KINDS = {bool: "bool", int: "integer", float: "floating-point", complex: "complex"}


def require_kind(name: str, dtype: np.dtype[Any], kinds: str) -> None:
    """Raise TypeError unless the dtype's kind (b, i, f, c) is one of ``kinds``."""
    kind = "f" if is_floating(dtype) else "i" if dtype.kind in "iu" else dtype.kind
    if kind not in kinds:
        wanted = " or ".join(
            _KINDS[t] for k, t in (("b", bool), ("i", int), ("f", float), ("c", complex)) if k in kinds
        )
        raise TypeError(f"{name} takes operands of {wanted} type, got {dtype.name}; convert with astype")


def require_axes(name: str, axes: Sequence[int], shape: tuple[int, ...]) -> None:
    """Raise ValueError unless all ``axes`` are axes of ``shape``."""
    for axis in axes:
        if not 0 <= axis < len(shape):
            raise ValueError(f"{name} along axis {axis} of shape {shape}, which has {len(shape)} axes")


def require_indices(name: str, indices: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless all ``indices`` are of integer type."""
    for aval in indices:
        if aval.dtype.kind not in "iu":
            raise TypeError(f"{name} takes indices of integer type, got {aval.dtype.name}; convert with astype")


def pushed(operation: Operation, degree: int, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """The ``taylor_rule`` of what is linear, at least piece by piece: each coefficient moves as a tangent does."""
    terms = [x[degree] for x in operands]
    if all(term is ZERO for term in terms):
        return [ZERO] * len(results)
    return operation.jvp([x[0] for x in operands], terms)[1]


def convolved(operation: Operation, degree: int, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """The ``taylor_rule`` of what is linear in each of two operands: the Cauchy product of their series."""
    x, y = operands
    pairs = [(x[i], y[degree - i]) for i in range(degree + 1)]
    return [sum_tangents([bind1(operation, p, q) for p, q in pairs if p is not ZERO and q is not ZERO])]


class Unary(Operation):
    """Elementwise on one operand; the result has the operand's type."""

    hlo: ClassVar[str]
    kinds: ClassVar[str] = "fc"
    cost: ClassVar[int] = 1

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_kind(self.name, x.dtype, self.kinds)
        return [x]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit(self.hlo, operands)  # type: ignore[no-any-return]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return self.cost * results[0].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        y = bind1(self, x)
        return [y], [ZERO if t is ZERO else self.derivative(x, y, t)]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        """The tangent of ``y = f(x)`` when ``x`` moves by ``t``."""
        raise NotImplementedError

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *operands), list(axes)


class Flat(Unary):
    """A unary operation that is constant almost everywhere: its derivative is zero."""

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return ZERO


class Linear(Operation):
    """Linear in its only operand: the tangent of the result is the operation applied to the tangent."""

    taylor_rule = pushed

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        return [bind1(self, x)], [ZERO if t is ZERO else bind1(self, t)]


def stretched(name: str, x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an elementwise result: equal ranks with axes of size 1 stretched, or one operand without axes."""
    if x == y or not y:
        return x
    if not x:
        return y
    if len(x) == len(y) and all(a == b or a == 1 or b == 1 for a, b in zip(x, y, strict=True)):
        return tuple(b if a == 1 else a for a, b in zip(x, y, strict=True))
    raise TypeError(
        f"{name} got operands whose shapes do not fit: {x} and {y}{where_text(user_line())}{see('shape-mismatch')}"
    )


def require_one_dtype(name: str, x: ShapedArray, y: ShapedArray) -> None:
    """Raise TypeError unless two operands have the same dtype."""
    if x.dtype != y.dtype:
        raise TypeError(
            f"{name} takes operands of one dtype, got {x.dtype.name} and {y.dtype.name}{where_text(user_line())}. "
            f"Convert one of them with astype.{see('dtype-mismatch')}"
        )


class Binary(Operation):
    """Elementwise on two operands of one dtype; see :func:`stretched` for shapes."""

    hlo: ClassVar[str]
    kinds: ClassVar[str] = "ifc"

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, y = operands
        if x is y:
            require_kind(self.name, x.dtype, self.kinds)
            return [x]
        require_one_dtype(self.name, x, y)
        require_kind(self.name, x.dtype, self.kinds)
        return [shaped(stretched(self.name, x.shape, y.shape), x.dtype, x.weak_type and y.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit(self.hlo, stretch_values(builder, operands))  # type: ignore[no-any-return]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return results[0].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x, y), (tx, ty) = primals, tangents
        z = bind1(self, x, y)
        if ty is ZERO:
            return [z], [self.derivative_left(x, y, z, tx)]
        if tx is ZERO:
            return [z], [self.derivative_right(x, y, z, ty)]
        return [z], [sum_tangents([self.derivative_left(x, y, z, tx), self.derivative_right(x, y, z, ty)])]

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        """The tangent of ``z = f(x, y)`` when ``x`` moves by ``t``."""
        raise NotImplementedError

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        """The tangent of ``z = f(x, y)`` when ``y`` moves by ``t``."""
        raise NotImplementedError

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *align(operands, axes)), [0]


def stretch_values(builder: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """The MLIR operands of an elementwise operation, all broadcast to the result's shape."""
    shape = builder.outputs[0].aval.shape
    for x in builder.inputs:
        if x.aval.shape != shape:
            break
    else:
        return operands
    return [
        value if x.aval.shape == shape else builder.spread(value, x, shape)
        for value, x in zip(operands, builder.inputs, strict=True)
    ]


def sum_tangents(parts: Sequence[Any]) -> Any:
    """The sum of tangents, any of which may be ZERO."""
    from_somewhere = [part for part in parts if part is not ZERO]
    if not from_somewhere:
        return ZERO
    total = from_somewhere[0]
    for part in from_somewhere[1:]:
        total = bind1(shapes.ADD_ANY, total, part)
    return total


def align(operands: Sequence[Any], axes: Sequence[Any]) -> list[Any]:
    """Operands of an elementwise operation with their mapped axes in front and ranks that fit.

    An operand that is not mapped gets no axis when it has none (a scalar fits everything), else one of size 1.
    """
    ranks = [len(aval_of(x).shape) - (a is not NOT_MAPPED) for x, a in zip(operands, axes, strict=True)]
    rank = max(ranks)
    aligned = []
    for x, axis, own in zip(operands, axes, ranks, strict=True):
        if axis is NOT_MAPPED:
            aligned.append(x if own == 0 else shapes.expand_dims(x, (0,)))
        else:
            x = shapes.moveaxis(x, axis, 0)
            aligned.append(shapes.expand_dims(x, tuple(range(1, 1 + rank - own))) if own < rank else x)
    return aligned


def unstretch(cotangent: Any, aval: ShapedArray) -> Any:
    """Sum a cotangent over the axes along which an operand of type ``aval`` was stretched."""
    try:
        shape = cotangent.aval.shape
    except AttributeError:
        shape = aval_of(cotangent).shape
    if shape == aval.shape:
        return cotangent
    if not aval.shape:
        return shapes.reduce_sum(cotangent, tuple(range(len(shape))))
    axes = tuple(i for i, (a, b) in enumerate(zip(shape, aval.shape, strict=True)) if a != b)
    return shapes.expand_dims(shapes.reduce_sum(cotangent, axes), axes)


def is_linear(x: Any) -> bool:
    """Whether an operand of a transpose rule is one whose cotangent is asked for."""
    return x.__class__ is LinearInput


def type_of(x: Any) -> ShapedArray:
    """The type of an operand of a transpose rule, linear or not."""
    return x.aval if x.__class__ is LinearInput else aval_of(x)
