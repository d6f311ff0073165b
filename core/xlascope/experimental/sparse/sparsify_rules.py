"""``sparsify``: evaluation of a function's jaxpr with sparse arrays, by rules for each operation.

Equations without sparse operands are bound unchanged. The others have a rule by the name of their operation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import lax, tree
from ... import numpy as jnp
from ...api.inspection import trace_program
from ...ir.avals import ShapeDtypeStruct
from ...ir.jaxpr import ClosedJaxpr, Literal
from ...trace.bind import bind
from ...trace.source import here
from ...trace.values import literal_operand
from .bcsr import BCSR
from .broadcasting import bcoo_broadcast_in_dim
from .construction import bcoo_todense
from .formats import BCOO, JAXSparse, broadcast_batch
from .layout import bcoo_sum_duplicates
from .movement import (
    bcoo_concatenate,
    bcoo_dynamic_slice,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
    bcoo_transpose,
)
from .products import bcoo_dot_general, bcoo_multiply_sparse, bcoo_reduce_sum, multiply_by_dense

Rule = Callable[..., Any]


def is_sparse(x: Any) -> bool:
    """Return whether ``x`` is a sparse array."""
    return isinstance(x, JAXSparse)


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Return ``f`` as a function that also takes BCOO and BCSR arrays, alone or in trees, and may return them.

    Operations that keep an array sparse have rules: sums, products, moving elements, functions that are 0 at 0, loops
    and branches. Others raise NotImplementedError that names the operation. ``use_tracer`` has no effect.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental import sparse
    >>> x = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> print(sparse.sparsify(lambda x, y: jnp.abs(-2 * x).T @ y)(x, jnp.ones(2)))
    [6. 4.]
    """

    @functools.wraps(f)
    def sparse_function(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten((args, kwargs), is_leaf=is_sparse)
        stand_ins = [ShapeDtypeStruct(x.shape, x.dtype) if is_sparse(x) else x for x in leaves]
        stand_in_args, stand_in_kwargs = structure.unflatten(stand_ins)
        program, shape = trace_program(f, stand_in_args, stand_in_kwargs)
        return tree.structure(shape).unflatten(evaluate(program, leaves))

    return sparse_function


def evaluate(program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """Evaluate a program for operands some of which are sparse; return its results, dense or sparse."""
    jaxpr = program.jaxpr
    values: dict[int, Any] = {id(v): x for v, x in zip(jaxpr.constvars, program.consts, strict=True)}
    values.update((id(v), x) for v, x in zip(jaxpr.invars, operands, strict=True))

    def read_atom(atom: Any) -> Any:
        return literal_operand(atom) if atom.__class__ is Literal else values[id(atom)]

    for operation, inputs, outputs, *_ in jaxpr.raw:
        arguments = [read_atom(x) for x in inputs]
        results = _apply_rule(operation, arguments) if any(map(is_sparse, arguments)) else bind(operation, *arguments)
        for variable, result in zip(outputs, results, strict=True):
            values[id(variable)] = result
    return [read_atom(x) for x in jaxpr.outvars]


def _apply_rule(operation: Any, operands: Sequence[Any]) -> list[Any]:
    """Apply the rule of an operation with sparse operands; return the list of results.

    BCSR operands are converted to BCOO, and the results back if the operation preserves rows. Raises
    NotImplementedError for an operation without a rule.
    """
    rule = RULES.get(operation.name)
    if rule is None:
        raise NotImplementedError(f"{operation.name} has no rule for sparse arrays: use x.todense() before{here()}")
    rows = any(isinstance(x, BCSR) for x in operands)
    entries = [x.to_bcoo() if isinstance(x, BCSR) else x for x in operands]
    results = rule(operation, *entries)
    results = results if isinstance(results, list) else [results]
    if rows and operation.name in _BCSR_PRESERVING_OPERATIONS:
        return [BCSR.from_bcoo(x) if isinstance(x, BCOO) else x for x in results]
    return results


# Elementwise ----------------------------------------------------------------------------------------------------------


def with_data(mat: BCOO, data: Any) -> BCOO:
    """Return a BCOO array with the positions of ``mat`` and other data."""
    return BCOO(
        (data, mat.indices),
        shape=mat.shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def _linear(operation: Any, x: BCOO) -> BCOO:
    """Apply a linear elementwise operation to the entries."""
    (data,) = bind(operation, x.data)
    return with_data(x, data)


def _sum_to_unique(x: BCOO) -> BCOO:
    """Sum duplicate entries, so that functions of elements can be applied to entries."""
    return x if x.unique_indices else bcoo_sum_duplicates(x, nse=x.nse)


def _zero_at_zero(operation: Any, x: BCOO) -> BCOO:
    """Apply an elementwise operation that is 0 at 0 to the elements."""
    return _linear(operation, _sum_to_unique(x))


def _integer_pow(operation: Any, x: BCOO) -> BCOO:
    if operation.y <= 0:
        raise NotImplementedError(f"the power {operation.y} of a sparse array, which is not 0 at 0{here()}")
    return _zero_at_zero(operation, x)


def _mul(operation: Any, x: Any, y: Any) -> BCOO:
    if is_sparse(x) and is_sparse(y):
        return bcoo_multiply_sparse(x, y)
    return multiply_by_dense(x, y) if is_sparse(x) else multiply_by_dense(y, x)


def _div(operation: Any, x: Any, y: Any) -> BCOO:
    if is_sparse(y):
        raise NotImplementedError(f"division by a sparse array, which has zeros{here()}")
    return multiply_by_dense(x, jnp.reciprocal(y) if jnp.issubdtype(x.dtype, np.inexact) else 1 / y)


def _add(operation: Any, x: Any, y: Any) -> Any:
    """Return the sum or difference of two arrays, dense if one of them is.

    Raises NotImplementedError unless the layouts of two sparse arrays agree, or both have one shape.
    """
    if not (is_sparse(x) and is_sparse(y)):
        if x.shape != y.shape:
            raise NotImplementedError(
                f"the sum of a sparse array and a dense one of another shape, {x!r} and {y!r}: use x.todense(){here()}"
            )
        (total,) = bind(operation, *(bcoo_todense(z) if is_sparse(z) else z for z in (x, y)))
        return total
    if x.shape != y.shape or (x.n_batch, x.n_dense) != (y.n_batch, y.n_dense):
        raise NotImplementedError(f"sums of sparse arrays whose shapes or layouts differ: {x!r} and {y!r}{here()}")
    if x.indices is y.indices:
        (data,) = bind(operation, x.data, y.data)
        return with_data(x, data)
    rhs = with_data(y, -y.data) if operation.name == "sub" else y
    pairs = zip(broadcast_batch(x), broadcast_batch(rhs), strict=True)
    data, indices = (jnp.concatenate(list(pair), axis=x.n_batch) for pair in pairs)
    return BCOO((data, indices), shape=x.shape)


def _sum(operation: Any, x: BCOO) -> Any:
    """Return the sum along the operation's axes, sparse along the remaining axes; a single number is dense."""
    total = bcoo_reduce_sum(x, axes=operation.axes)
    return total if total.shape else bcoo_todense(total)


# Programs -------------------------------------------------------------------------------------------------------------


def _call(operation: Any, *operands: Any) -> list[Any]:
    return evaluate(operation.jaxpr, operands)


def _cond(operation: Any, index: Any, *operands: Any) -> list[Any]:
    branches = [functools.partial(_branch, program) for program in operation.branches]
    return list(lax.switch(index, branches, *operands))


def _branch(program: ClosedJaxpr, *operands: Any) -> list[Any]:
    return evaluate(program, operands)


def _while(operation: Any, *operands: Any) -> list[Any]:
    """Evaluate a while loop whose constants or carry are partly sparse; return the final carry."""
    first = operation.cond_nconsts
    second = first + operation.body_nconsts
    of_cond, of_body, start = operands[:first], operands[first:second], list(operands[second:])

    def condition(state: Any) -> Any:
        return evaluate(operation.cond_jaxpr, [*of_cond, *state])[0]

    def step(state: Any) -> Any:
        return evaluate(operation.body_jaxpr, [*of_body, *state])

    return list(lax.while_loop(condition, step, start))


def _scan(operation: Any, *operands: Any) -> list[Any]:
    """Evaluate a scan whose constants or carry are partly sparse; return the final carry and the stacked results.

    Raises NotImplementedError if an array to slice is sparse.
    """
    first, second = operation.num_consts, operation.num_consts + operation.num_carry
    consts, start, slices = operands[:first], list(operands[first:second]), list(operands[second:])
    if any(map(is_sparse, slices)):
        raise NotImplementedError(f"scan along an axis of a sparse array: close over it, or carry it{here()}")

    def step(carry: Any, xs: Any) -> Any:
        results = evaluate(operation.jaxpr, [*consts, *carry, *xs])
        return results[: len(carry)], results[len(carry) :]

    carry, ys = lax.scan(step, start, slices, operation.length, operation.reverse)
    return [*carry, *ys]


_LINEAR_OPERATIONS = ("neg", "real", "imag", "conj", "convert_element_type", "copy", "reduce_precision")
_ZERO_PRESERVING_OPERATIONS = (
    *("abs", "sign", "sqrt", "cbrt", "square", "expm1", "log1p", "floor", "ceil", "round", "erf"),
    *("sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh"),
)
_CALL_OPERATIONS = ("jit", "custom_jvp_call", "custom_vjp_call", "checkpoint")
#: Operations that keep the BCSR format of their operands.
_BCSR_PRESERVING_OPERATIONS = {
    *_LINEAR_OPERATIONS,
    *_ZERO_PRESERVING_OPERATIONS,
    "integer_pow",
    "mul",
    "div",
    "broadcast_in_dim",
    "concatenate",
}

RULES: dict[str, Rule] = {
    **dict.fromkeys(_LINEAR_OPERATIONS, _linear),
    **dict.fromkeys(_ZERO_PRESERVING_OPERATIONS, _zero_at_zero),
    **dict.fromkeys(_CALL_OPERATIONS, _call),
    "integer_pow": _integer_pow,
    "mul": _mul,
    "div": _div,
    "add": _add,
    "add_any": _add,
    "sub": _add,
    "cond": _cond,
    "while": _while,
    "scan": _scan,
    "dot_general": lambda operation, x, y: bcoo_dot_general(
        x,
        y,
        dimension_numbers=operation.dimension_numbers,
        preferred_element_type=operation.preferred_element_type,
    ),
    "reduce_sum": _sum,
    "transpose": lambda operation, x: bcoo_transpose(x, permutation=operation.permutation),
    "reshape": lambda operation, x: bcoo_reshape(x, new_sizes=operation.new_sizes),
    "squeeze": lambda operation, x: bcoo_squeeze(x, dimensions=operation.dimensions),
    "rev": lambda operation, x: bcoo_rev(x, dimensions=operation.dimensions),
    "concatenate": lambda operation, *xs: bcoo_concatenate(xs, dimension=operation.dimension),
    "dynamic_slice": lambda operation, x, *starts: bcoo_dynamic_slice(x, starts, operation.slice_sizes),
    "slice": lambda operation, x: bcoo_slice(
        x,
        start_indices=operation.start_indices,
        limit_indices=operation.limit_indices,
        strides=operation.strides,
    ),
    "broadcast_in_dim": lambda operation, x: bcoo_broadcast_in_dim(
        x, shape=operation.shape, broadcast_dimensions=operation.broadcast_dimensions
    ),
}
