"""cond and switch, as users call them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import tree
from ...dtypes import dtype_kind, to_canonical_dtype
from ...errors import see
from ...ir.avals import union_of_varying_axes
from ...ir.jaxpr import ClosedJaxpr, Literal
from ...operations.conversion import convert_element_type
from ...operations.extremes import clamp
from ...operations.varying_axes import make_varying
from ...runtime.boot import disable_jit
from ...trace.bind import bind
from ...trace.operand_coercion import pass_through
from ...trace.source import compose_message, here
from ...trace.state import STATE
from ...trace.traceback_filtering import api_boundary
from ...trace.values import aval_of
from ...transforms.evaluate import evaluate
from ...transforms.staging import stage_with_consts
from ..programs.function_names import name_of
from ..programs.function_staging import Body, get_body, hoist_common_consts
from ..programs.structure_checks import can_broadcast, check_same_structure, find_type_differences, promoted_dtype
from ..programs.values import concrete_or_none, operand_aval
from .cond_op import Cond

_NO_OPERAND: Any = object()


@api_boundary
def cond(
    pred: Any,
    true_fun: Any,
    false_fun: Any,
    *operands: Any,
    operand: Any = _NO_OPERAND,
    linear: Any = None,
) -> Any:
    """Return ``true_fun(*operands)`` if ``pred`` (a scalar) is true, else ``false_fun(*operands)``.

    Both functions are traced, and have to return trees of one structure with leaves of the same types (the results
    are weak where those of ``false_fun`` are). Only the selected one runs, except under vmap with a predicate that
    differs from example to example. A predicate that is a number is true unless it is 0. ``operand=`` and ``linear``
    are older spellings. Raises TypeError if the predicate is not a scalar or the results do not agree.

    >>> import xlascope as xs
    >>> f = lambda x: xs.lax.cond(x >= 0.0, lambda y: y + 3.0, lambda y: y - 3.0, x)
    >>> print(f(1.0), xs.grad(f)(-1.0))
    4.0 1.0
    """
    if not (callable(true_fun) and callable(false_fun)):
        return _cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = _collect_operands("cond", operands, operand)
    pred = _to_boolean(pred)
    concrete_pred = concrete_or_none(pred) if disable_jit.value else None
    if concrete_pred is not None:
        return true_fun(*operands) if concrete_pred else false_fun(*operands)
    index = convert_element_type(pred, np.dtype(np.int32))
    return _trace_and_bind("cond", index, (false_fun, true_fun), operands, ("false_fun", "true_fun"))


def _to_boolean(pred: Any) -> Any:
    """Return a predicate as a boolean; raise TypeError if it is not a boolean or real scalar."""
    _check_scalar("cond", "predicate", pred)
    dtype = aval_of(pred).dtype
    if dtype == np.bool_:
        return pred
    if dtype_kind(dtype) == "c":
        raise TypeError(f"cond takes a predicate of boolean or numeric type, got {dtype.name}{here()}")
    return pred != 0


def _collect_operands(api_name: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """Return the operands, given either by position or as ``operand=``; raise TypeError if both are given.

    ``api_name`` is for the message.
    """
    if operand is _NO_OPERAND:
        return operands
    if operands:
        raise TypeError(f"{api_name} takes operands either by position or as operand=, not both{here()}")
    return (operand,)


def _cond_with_two_operands(pred: Any, true_operand: Any, true_fun: Any, *rest: Any) -> Any:
    """Return the results of the older form ``cond(pred, true_operand, true_fun, false_operand, false_fun)``.

    ``rest`` are the last two arguments. Raises TypeError if there are not two, or if a function is missing.
    """
    if len(rest) != 2 or not callable(true_fun) or not callable(rest[1]):
        wrong = true_operand if not callable(true_operand) else true_fun
        raise TypeError(f"cond takes two functions, cond(pred, true_fun, false_fun, *operands); got {wrong!r}{here()}")
    false_operand, false_fun = rest
    return cond(pred, lambda t, f: true_fun(t), lambda t, f: false_fun(f), true_operand, false_operand)


@api_boundary
def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _NO_OPERAND, linear: Any = None
) -> Any:
    """Return ``branches[index](*operands)``, with ``index`` (an integer scalar) clamped to the valid range.

    All branches are traced, and have to return trees of one structure with leaves of the same types (the results are
    weak where those of the first are). Raises TypeError if the index is not an integer scalar or the results do not
    agree, and ValueError if there is no branch.

    >>> import xlascope as xs
    >>> print(xs.lax.switch(1, [lambda x: x, lambda x: x * 10.0], 2.0))
    20.0
    """
    branches = list(branches)
    if not all(callable(branch) for branch in branches):
        raise TypeError(f"switch takes a sequence of functions, got {branches!r}{here()}")
    if not branches:
        raise ValueError(f"switch needs at least one branch{here()}")
    operands = _collect_operands("switch", operands, operand)
    _check_scalar("switch", "index", index)
    if dtype_kind(aval_of(index).dtype) not in "iu":
        raise TypeError(f"switch takes an index of integer type, got {aval_of(index).dtype.name}{here()}")
    if len(branches) == 1:
        return tree.map(pass_through, branches[0](*tree.map(pass_through, operands)))
    concrete_index = concrete_or_none(index) if disable_jit.value else None
    if concrete_index is not None:
        return branches[min(max(int(concrete_index), 0), len(branches) - 1)](*operands)
    clamped_index = clamp(np.int32(0), convert_element_type(index, np.dtype(np.int32)), np.int32(len(branches) - 1))
    return _trace_and_bind(
        "switch", clamped_index, branches, operands, [f"branches[{i}]" for i in range(len(branches))]
    )


def _trace_and_bind(
    api_name: str, index: Any, functions: Sequence[Callable[..., Any]], operands: Sequence[Any], names: Sequence[str]
) -> Any:
    """Stage the functions, check that their results agree, bind the cond, and return the selected results.

    ``index`` selects the function; ``names`` are the functions' names for messages.
    """
    leaves, structure = tree.flatten(tuple(operands))
    avals = [operand_aval(f"an operand of {api_name}", x) for x in leaves]
    bodies = [get_body(function, structure, avals) for function in functions]
    labels = [f"{name} ({name_of(function)})" for name, function in zip(names, functions, strict=True)]
    for label, body in zip(labels[1:], bodies[1:], strict=True):
        _check_same_results(api_name, labels[0], label, bodies[0], body)
    consts, branches = hoist_common_consts(bodies)
    branch_operands = [*consts, *leaves]
    if STATE.checked_axes:
        branch_operands, branches = _make_branches_varying(index, branch_operands, branches)
    results = bind(Cond(tuple(branches)), index, *branch_operands)
    return bodies[0].structure.unflatten(results)


def _make_branches_varying(
    index: Any, operands: Sequence[Any], branches: Sequence[ClosedJaxpr]
) -> tuple[list[Any], list[ClosedJaxpr]]:
    """Return the operands and branches of a cond with types by which each result varies along the same mesh axes.

    Where devices choose for themselves (``index`` varies), operands and results vary as the index does: branches that
    only some devices run must not sum over them when they are differentiated.
    """
    chosen_along = aval_of(index).varying
    operands = [make_varying(x, chosen_along) for x in operands]
    avals = [aval_of(x) for x in operands]
    if chosen_along:
        branches = [stage_with_consts(partial(evaluate, branch), avals, branch.name) for branch in branches]
    out_avals = [branch.out_avals for branch in branches]
    axes = [union_of_varying_axes(of_branches) | chosen_along for of_branches in zip(*out_avals, strict=True)]
    if all(aval.varying == along for avals in out_avals for aval, along in zip(avals, axes, strict=True)):
        return operands, list(branches)

    def run(branch: ClosedJaxpr, *values: Any) -> list[Any]:
        return [make_varying(y, along) for y, along in zip(evaluate(branch, *values), axes, strict=True)]

    return operands, [stage_with_consts(partial(run, branch), avals, branch.name) for branch in branches]


def _check_same_results(api_name: str, first_name: str, name: str, first: Body, body: Body) -> None:
    """Raise TypeError unless two branches return trees of one structure with leaves of the same types.

    ``first_name`` and ``name`` describe the branches in the message.
    """
    pairs = [(first_name, first), (name, body)]
    ordered = pairs[::-1] if api_name == "cond" else pairs  # as its arguments are
    words = [f"from {label.removesuffix(' (<lambda>)')}" for label, _ in ordered]
    check_same_structure(
        f"the functions of {api_name} have to return trees of one structure",
        "result",
        (f"{words[0]} is", words[1]),
        ordered[0][1].structure,
        ordered[1][1].structure,
        "Return containers of the same kinds, lengths and keys from all of them; what one of them does not compute "
        "it returns as zeros (xlascope.numpy.zeros_like).",
        "loop-types",
        " ",
    )
    diff = find_type_differences(first.structure, first.program.out_avals, body.program.out_avals)
    if diff:
        fixes = [_result_type_advice(pairs, i) for _, i in diff[:_MAX_FIXES]]
        differences = "; ".join(_types_text(ordered, path, i) for path, i in diff)
        problem = f"{api_name}: {differences}; its functions have to return the same types."
        raise TypeError(compose_message(problem, " ".join(dict.fromkeys(fixes))) + see("loop-types"))


#: So many results that differ are given advice.
_MAX_FIXES = 3


def _types_text(pairs: Sequence[tuple[str, Body]], path: str, i: int) -> str:
    """Return which type each function returns for leaf ``i``: ``true_fun returns f32[], false_fun returns i32[]``.

    ``pairs`` are the names and bodies of the functions, ``path`` is the leaf's key path.
    """
    path_text = f" as result{path}" if path else ""
    return ", ".join(
        f"{name.removesuffix(' (<lambda>)')} returns {body.program.out_avals[i].str_short()}{path_text}"
        f"{_python_kind(body, i)}"
        for name, body in pairs
    )


def _python_kind(body: Body, i: int) -> str:
    """Return `` (a Python int)`` or the like if result ``i`` is a Python number, else an empty text."""
    number = _number(body, i)
    return "" if number is None else f" (a Python {type(number).__name__})"


def _number(body: Body, i: int) -> int | float | None:
    """Return result ``i`` if it is a Python number that the function returns as it is, else None."""
    result = body.program.jaxpr.outvars[i]
    if not isinstance(result, Literal) or not result.aval.weak_type:
        return None
    value = np.asarray(result.val).item()
    return value if isinstance(value, (int, float)) else None


def _result_type_advice(pairs: Sequence[tuple[str, Body]], i: int) -> str:
    """Return advice about leaf ``i`` of the results, whose types differ between two functions.

    ``pairs`` are the two functions: the name for messages, and the staged body.
    """
    (_, a), (_, b) = ((name, body.program.out_avals[i]) for name, body in pairs)
    fixes = []
    if a.dtype != b.dtype:
        wide = promoted_dtype(a, b)
        narrow = [pair for pair in pairs if wide is not None and pair[1].program.out_avals[i].dtype != wide]
        fixes += [_conversion(name, body, i, wide) for name, body in narrow] or ["Return values of one type from both."]
    if a.shape != b.shape:
        small, large = (a, b) if can_broadcast(a, b) else (b, a)
        smaller = pairs[0 if small is a else 1][0].removesuffix(" (<lambda>)")
        fixes.append(
            f"Give the result of {smaller} the shape {large.shape}: xlascope.numpy.broadcast_to(y, {large.shape})."
            if can_broadcast(small, large)
            else "Give both results one shape."
        )
    return " ".join(fixes)


def _conversion(name: str, body: Body, i: int, dtype: np.dtype[Any]) -> str:
    """Return advice on how the function ``name`` can return leaf ``i`` of its results in ``dtype``.

    ``body`` is the staged function.
    """
    number = _number(body, i)
    if type(number) is int and dtype == to_canonical_dtype(float):
        like = ", or xlascope.numpy.zeros_like(x)" if number == 0 else ""
        return f"Write {float(number)!r} instead of {number!r}{like}."
    plain = name.removesuffix(" (<lambda>)")
    return f"Convert the result of {plain}: xlascope.numpy.asarray(y, {dtype.name!r})."


def _check_scalar(api_name: str, role: str, x: Any) -> None:
    """Raise TypeError unless ``x`` is a scalar.

    ``api_name`` is the public function, ``role`` what ``x`` is for it, such as ``"predicate"``; both are for the
    message.
    """
    try:
        shape = aval_of(x).shape
    except TypeError:
        function = name_of(x) if callable(x) and name_of(x).isidentifier() else "f"
        fix = f"Call it: {api_name}({function}(operand), …)." if callable(x) else ""
        problem = f"{api_name} takes a scalar {role}, got {x!r} of type {type(x).__name__}."
        raise TypeError(compose_message(problem, fix)) from None
    if shape:
        fix = "To choose element by element use xlascope.numpy.where; to choose for each example of a batch, vmap."
        raise TypeError(compose_message(f"{api_name} takes a scalar {role}, got one of shape {shape}.", fix))
