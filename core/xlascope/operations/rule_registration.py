"""Helpers to register rules for user-defined primitives.

Rules for linear, elementwise and bilinear primitives, and lowerings from functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..cache_keys import cache_key
from ..ir.avals import ShapedArray
from ..ir.jaxpr import ClosedJaxpr, Literal
from ..ir.markers import NOT_MAPPED
from ..ir.operation import Primitive
from ..runtime.boot import enable_x64, threefry_partitionable
from ..trace.bind import bind1
from ..trace.jaxpr_trace import stage
from ..trace.values import aval_of
from . import shapes
from .elementwise import align
from .registered_operations import (
    LoweringRuleContext,
    UndefinedPrimal,
    Zero,
    primitive_batchers,
    primitive_jvps,
    primitive_transposes,
)
from .shapes import mapped_in_front, zeros_of
from .tangent_arithmetic import ADD_ANY

# Differentiation ----------------------------------------------------------------------------------------------------


def zeros_like_aval(aval: ShapedArray) -> Any:
    """Return an array of zeros of the type ``aval``."""
    return zeros_of(aval)


def instantiate_zeros(tangent: Any) -> Any:
    """Return an array of zeros for a :class:`Zero`, anything else unchanged."""
    return zeros_like_aval(tangent.aval) if isinstance(tangent, Zero) else tangent


def is_undefined_primal(x: Any) -> bool:
    """Return whether an operand of a transpose rule is a placeholder for one whose cotangent is requested."""
    return isinstance(x, UndefinedPrimal)


def add_tangents(x: Any, y: Any) -> Any:
    """Return the sum of two tangents; each may be a :class:`Zero`."""
    if isinstance(x, Zero):
        return y
    return x if isinstance(y, Zero) else bind1(ADD_ANY, x, y)


def get_primitive_transpose(primitive: Primitive) -> Callable[..., Any]:
    """Return the transpose rule that was registered for a primitive; raise KeyError if there is none."""
    return primitive_transposes[primitive]


def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Register derivatives of a linear primitive: ``transpose_rule(cotangent, **params)`` returns a list.

    The list has the cotangents of the operands.
    """

    def without_operands(cotangent: Any, *operands: Any, **params: Any) -> Any:
        return transpose_rule(cotangent, **params)

    deflinear2(primitive, without_operands)


def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Register derivatives of a linear primitive: ``transpose_rule(cotangent, *operands, **params)``.

    It returns the list of the operands' cotangents, and gets placeholders for the linear operands.
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        results = primitive.bind(*primals, **params)
        return results, primitive.bind(*map(instantiate_zeros, tangents), **params)

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose_rule


def defjvp(primitive: Primitive, *rules: Callable[..., Any] | None) -> None:
    """Register derivatives by operand: ``rule(tangent, *operands, **params)`` returns the tangent.

    None stands for an operand on which the result does not depend differentiably.
    """
    defjvp2(primitive, *(rule and _without_result(rule) for rule in rules))


def _without_result(rule: Callable[..., Any]) -> Callable[..., Any]:
    def with_result(tangent: Any, result: Any, *operands: Any, **params: Any) -> Any:
        return rule(tangent, *operands, **params)

    return with_result


def defjvp2(primitive: Primitive, *rules: Callable[..., Any] | None) -> None:
    """Register derivatives that use the result: ``rule(tangent, result, *operands, **params)``.

    Otherwise it works as :func:`defjvp`.
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        result = primitive.bind(*primals, **params)
        out_tangent: Any = Zero(aval_of(result))
        for rule, t in zip(rules, tangents, strict=True):
            if rule is not None and not isinstance(t, Zero):
                out_tangent = add_tangents(out_tangent, rule(t, result, *primals, **params))
        return result, out_tangent

    primitive_jvps[primitive] = jvp


def defbilinear(primitive: Primitive, left_rule: Callable[..., Any], right_rule: Callable[..., Any]) -> None:
    """Register an operation that is linear in each of its two operands.

    ``left_rule(cotangent, x, y, **params)`` returns the cotangent of x, ``right_rule`` that of y.
    """

    def transpose(cotangent: Any, x: Any, y: Any, **params: Any) -> list[Any]:
        if is_undefined_primal(x):
            return [left_rule(cotangent, x, y, **params), None]
        return [None, right_rule(cotangent, x, y, **params)]

    defjvp(
        primitive,
        lambda t, x, y, **params: primitive.bind(t, y, **params),
        lambda t, x, y, **params: primitive.bind(x, t, **params),
    )
    primitive_transposes[primitive] = transpose


# Vectorization ------------------------------------------------------------------------------------------------------


def defvectorized(primitive: Primitive) -> None:
    """Register the batching rule of an elementwise primitive whose operands are all mapped along one axis.

    The rule raises ValueError for operands that are mapped along different axes.
    """

    def batch(operands: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        if len(set(dims)) > 1:
            raise ValueError(f"{primitive} is registered with defvectorized, its operands are mapped along {dims}")
        return _with_dims(primitive, primitive.bind(*operands, **params), dims[0])

    primitive_batchers[primitive] = batch


def defbroadcasting(primitive: Primitive) -> None:
    """Register the batching rule of an elementwise primitive that broadcasts axes of size 1, and scalars."""

    def batch(operands: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        axes = [NOT_MAPPED if d is None else d for d in dims]
        return _with_dims(primitive, primitive.bind(*align(operands, axes), **params), 0)

    primitive_batchers[primitive] = batch


def defreducer(primitive: Primitive) -> None:
    """Register the batching rule of a primitive that removes the axes in its parameter ``axes``."""

    def batch(operands: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (x,), (dim,) = operands, dims
        axes = tuple(axis + (axis >= dim) for axis in params.pop("axes"))
        where = dim - sum(axis < dim for axis in axes)
        return _with_dims(primitive, primitive.bind(x, axes=axes, **params), where)

    primitive_batchers[primitive] = batch


def _with_dims(primitive: Primitive, results: Any, dim: Any) -> tuple[Any, Any]:
    return results, [dim] * len(results) if primitive.multiple_results else dim


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """Move axis ``source`` to position ``destination`` and keep the order of the others."""
    return shapes.moveaxis(x, source, destination)


def broadcast(x: Any, size: int, axis: int, mesh_axis: None = None) -> Any:
    """Return ``x`` repeated ``size`` times along a new axis.

    ``axis`` is its position in the result; ``mesh_axis`` is ignored.
    """
    return shapes.moveaxis(mapped_in_front(x, NOT_MAPPED, size), 0, axis)


def bdim_at_front(x: Any, dim: int | None, size: int, mesh_axis: None = None) -> Any:
    """Return ``x`` with its batch axis ``dim`` in front, repeated ``size`` times when ``dim`` is None.

    ``mesh_axis`` is ignored.
    """
    return mapped_in_front(x, NOT_MAPPED if dim is None else dim, size)


# Lowering -----------------------------------------------------------------------------------------------------------


def register_lowering(
    primitive: Primitive,
    rule: Callable[..., Any],
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> Callable[..., Any]:
    """Register a lowering: ``rule(context, *operands, **params)`` returns the MLIR values of the results.

    A rule for a ``platform`` (cpu, cuda, tpu) takes precedence over the general one. ``inline`` and ``cacheable`` are
    accepted for compatibility with JAX and ignored. Returns the rule.
    """
    return primitive.register("lowering" if platform is None else f"lowering for {platform}", rule)


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Callable[..., Any]:
    """Return a lowering rule that emits what ``fun(*arrays, **params)`` computes.

    ``multiple_results`` says that ``fun`` returns a sequence. The traced program is cached in the primitive.
    """

    def rule(context: LoweringRuleContext, *operands: Any, **params: Any) -> list[Any]:
        def flat_fun(*xs: Any) -> Sequence[Any]:
            results = fun(*xs, **params)
            return list(results) if multiple_results else [results]

        # Cached: the module being emitted identifies the programs that it calls by their ids.
        cache = context.primitive.derived
        settings = (enable_x64.value, threefry_partitionable.value)
        key = (fun, tuple(context.avals_in), cache_key(tuple(sorted(params.items()))), settings)
        program = cache.get(key)
        if program is None:
            program = cache[key] = stage(flat_fun, context.avals_in, context.primitive.name)
        return _emit_program(context.builder, program, operands)

    return rule


def _emit_program(builder: Any, program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """Emit the equations of a program inline, all attributed to the current equation; return its results."""
    jaxpr = program.jaxpr
    values: dict[Any, Any] = {
        v: builder.constant(x, v.aval) for v, x in zip(jaxpr.constvars, program.consts, strict=True)
    }
    values.update(zip(jaxpr.invars, operands, strict=True))
    inputs, outputs = builder.inputs, builder.outputs
    try:
        for operation, builder.inputs, builder.outputs, *_ in jaxpr.raw:
            arguments = [builder.literal(x) if x.__class__ is Literal else values[x] for x in builder.inputs]
            results = operation.to_stablehlo(builder, arguments)
            values.update(zip(builder.outputs, results, strict=True))
    finally:
        builder.inputs, builder.outputs = inputs, outputs
    return [builder.literal(x) if x.__class__ is Literal else values[x] for x in jaxpr.outvars]
