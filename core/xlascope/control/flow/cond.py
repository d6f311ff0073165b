"""cond and switch: one of several programs, chosen by a value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import tree
from ...errors import see
from ...ir.avals import ShapedArray
from ...ir.effects import is_io, is_ordered
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import NOT_MAPPED, ZERO
from ...ir.operation import Operation
from ...operations.arithmetic import clamp, select_n
from ...operations.elementwise import convert_element_type
from ...operations.families import is_linear
from ...operations.shapes import expand_dims, mapped_in_front, zeros_of
from ...runtime.boot import disable_jit
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...trace.values import aval_of
from ...transforms.batch import batch_program, batch_size
from ...transforms.dce import dce_program, dependence, restricted_program
from ...transforms.differentiate import SplitProgram, jvp_program, linearize_program
from ...transforms.evaluate import evaluate
from ...transforms.taylor import joined as taylor_terms
from ...transforms.taylor import marked, separated, taylor_program
from ...transforms.transpose import transpose_program
from ..programs.agreement import check_same_structure, differing
from ..programs.bodies import Body, alike, body_of
from ..programs.names import name_of
from ..programs.rearranged import youngest
from ..programs.values import concrete, operand_aval

Marks = tuple[bool, ...]


class Cond(Operation, name="cond"):
    """The results of the program with the number that the first operand gives, of the other operands."""

    composite = True

    branches: tuple[ClosedJaxpr, ...]

    @property
    def holder(self) -> ClosedJaxpr:
        return youngest(self.branches)

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return self.branches

    def flops_of_bodies(self, flops: Sequence[int]) -> int:
        return max(flops)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return self.branches[0].out_avals

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        index, *rest = operands
        branches = [functools.partial(builder.call_body, b, rest, n) for n, b in enumerate(self.branches)]
        return builder.case(index, branches, ordered=is_ordered(self.effects))  # type: ignore[no-any-return]

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        index, *marks = operands
        found = [dependence(branch, marks) for branch in self.branches]
        return [index or any(of_branches) for of_branches in zip(*found, strict=True)]

    def dce_rule(self, used: Marks) -> tuple[Operation, Marks, Marks]:
        """The choice between what the used results need; an operand is needed if any branch needs it."""
        needed = [dce_program(branch, used)[1] for branch in self.branches]
        kept = tuple(any(of_branches) for of_branches in zip(*needed, strict=True))
        return Cond(tuple(restricted_program(branch, used, kept) for branch in self.branches)), (True, *kept), used

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        moving = tuple(t is not ZERO for t in tangents[1:])
        found = [jvp_program(branch, moving)[1] for branch in self.branches]
        out_moving = tuple(any(of_branches) for of_branches in zip(*found, strict=True))
        branches = tuple(jvp_program(branch, moving, out_moving)[0] for branch in self.branches)
        results = bind(Cond(branches), *primals, *(t for t in tangents[1:] if t is not ZERO))
        count = len(out_moving)
        moved = iter(results[count:])
        return results[:count], [next(moved) if m else ZERO for m in out_moving]

    def taylor_program_rule(
        self, primals: Sequence[Any], series: Sequence[Sequence[Any]]
    ) -> tuple[list[Any], list[list[Any]]]:
        moving, order = marked(series[1:]), len(series[0])
        found = [taylor_program(branch, order, moving)[1] for branch in self.branches]
        out_moving = tuple(any(of_branches) for of_branches in zip(*found, strict=True))
        branches = tuple(taylor_program(branch, order, moving, out_moving)[0] for branch in self.branches)
        results = bind(Cond(branches), *primals, *taylor_terms(primals[1:], series[1:], moving))
        count = len(out_moving)
        return results[:count], separated(results[count:], out_moving, order)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the branches' forward halves now, and record the choice between their linear halves."""
        moving = tuple(t is not ZERO for t in tangents[1:])
        splits = [linearize_program(branch, moving) for branch in self.branches]
        out_moving = tuple(any(s.out_moving[i] for s in splits) for i in range(len(splits[0].out_moving)))
        splits = [linearize_program(branch, moving, out_moving) for branch in self.branches]
        halves = _halves(splits)
        results = bind(halves.forward, *primals)
        count = len(out_moving)
        residuals = results[count:]
        given = [primals[1 + place] for place in halves.operands]
        moved_tangents = [t for t in tangents if t is not ZERO]
        moved = iter(bind(halves.linear, primals[0], *residuals, *given, *moved_tangents) if any(out_moving) else ())
        return results[:count], [next(moved) if m else ZERO for m in out_moving]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        index, *rest = operands
        linear = tuple(is_linear(x) for x in rest)
        arriving = tuple(ct is not ZERO for ct in cotangents)
        found = [transpose_program(branch, linear, arriving)[1] for branch in self.branches]
        moved = tuple(any(of_branches) for of_branches in zip(*found, strict=True))
        branches = tuple(transpose_program(branch, linear, arriving, moved)[0] for branch in self.branches)
        known = [x for x in rest if not is_linear(x)]
        results = iter(bind(Cond(branches), index, *known, *(ct for ct in cotangents if ct is not ZERO)))
        given = iter(moved)
        return [None, *((next(results) if next(given) else ZERO) if one else None for one in linear)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        if axes[0] is not NOT_MAPPED:
            return self._select(operands, axes, size)
        inner = tuple(axes[1:])
        found = [batch_program(branch, inner, size)[1] for branch in self.branches]
        forced = tuple(any(a is not NOT_MAPPED for a in of_branches) for of_branches in zip(*found, strict=True))
        branches = tuple(batch_program(branch, inner, size, forced)[0] for branch in self.branches)
        return bind(Cond(branches), *operands), [0 if f else NOT_MAPPED for f in forced]

    def _select(self, operands: Sequence[Any], axes: Sequence[Any], size: int) -> tuple[list[Any], list[Any]]:
        """Each example chooses for itself: compute all branches for all examples, and select."""
        if is_io(self.effects):
            raise NotImplementedError(
                f"IO effect not supported in vmap-of-cond{here()}: where each example chooses for itself all branches "
                "are computed for all examples, and io_callback would be called for those that did not choose it. Use "
                "lax.map in place of vmap"
            )
        forced = (True,) * len(self.branches[0].out_avals)
        inner = tuple(axes[1:])
        branches = [batch_program(branch, inner, size, forced)[0] for branch in self.branches]
        results = [evaluate(branch, *operands[1:]) for branch in branches]
        which = mapped_in_front(operands[0], axes[0], size)
        return [_selected(which, cases) for cases in zip(*results, strict=True)], [0] * len(forced)


def _selected(which: Any, cases: Sequence[Any]) -> Any:
    rank = len(aval_of(cases[0]).shape)
    return select_n(expand_dims(which, tuple(range(1, rank))) if rank > 1 else which, *cases)


class _Halves:
    """A choice split for reverse mode: ``linear`` takes the index, residuals, the named operands, and tangents."""

    def __init__(self, forward: Cond, linear: Cond, operands: Sequence[int]) -> None:
        self.forward = forward
        self.linear = linear
        self.operands = operands


def _halves(splits: Sequence[SplitProgram]) -> _Halves:
    """The forward and the linear choice. Branches keep different residuals: those of one type share a place."""
    key = ("halves", *splits)
    keeper = youngest([split.forward for split in splits])
    found = keeper.derived.get(key)
    if found is None:
        count = len(splits[0].out_moving)
        places: list[ShapedArray] = []
        owned = [_places_for(split.forward.out_avals[count:], places) for split in splits]
        operands = sorted({place for split in splits for place in split.residuals if place >= 0})
        forward = Cond(tuple(_forward(s, own, places, count) for s, own in zip(splits, owned, strict=True)))
        linear = Cond(tuple(_linear(s, own, places, operands) for s, own in zip(splits, owned, strict=True)))
        found = keeper.derived[key] = _Halves(forward, linear, operands)
    return found


def _places_for(avals: Sequence[ShapedArray], places: list[ShapedArray]) -> list[int]:
    """A place for each residual among ``places``, which grows where none of its type is left."""
    taken: list[int] = []
    for aval in avals:
        free = [i for i, other in enumerate(places) if other is aval and i not in taken]
        if not free:
            places.append(aval)
            free = [len(places) - 1]
        taken.append(free[0])
    return taken


def _forward(split: SplitProgram, own: Sequence[int], places: Sequence[ShapedArray], count: int) -> ClosedJaxpr:
    def forward(*operands: Any) -> list[Any]:
        results = evaluate(split.forward, *operands)
        residuals: list[Any] = [None] * len(places)
        for place, x in zip(own, results[count:], strict=True):
            residuals[place] = x
        return results[:count] + [zeros_of(a) if x is None else x for x, a in zip(residuals, places, strict=True)]

    return stage(forward, split.forward.in_avals, split.forward.name)


def _linear(
    split: SplitProgram, own: Sequence[int], places: Sequence[ShapedArray], operands: Sequence[int]
) -> ClosedJaxpr:
    in_avals = split.forward.in_avals
    moving = split.linear.in_avals[len(split.residuals) :]

    def linear(*given: Any) -> list[Any]:
        residuals, known = given[: len(places)], given[len(places) : len(places) + len(operands)]
        tangents = given[len(places) + len(operands) :]
        chosen = [known[operands.index(p)] if p >= 0 else residuals[own[-1 - p]] for p in split.residuals]
        return evaluate(split.linear, *chosen, *tangents)

    avals = [*places, *(in_avals[i] for i in operands), *moving]
    return stage(linear, avals, split.linear.name)


# As users call them -------------------------------------------------------------------------------------------------

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
    """``true_fun(*operands)`` if ``pred`` (a scalar) is true, else ``false_fun(*operands)``.

    Both functions are traced, and have to return trees of one structure with leaves of the same types (the results are
    weak where those of ``false_fun`` are); only the chosen one runs, except under vmap with a predicate that differs
    from example to example. A predicate that is a number is true unless it is 0. ``operand=`` and ``linear`` are older
    spellings. Raises TypeError where the predicate is no scalar or the results do not agree.

    >>> import xlascope as xs
    >>> f = lambda x: xs.lax.cond(x >= 0.0, lambda y: y + 3.0, lambda y: y - 3.0, x)
    >>> print(f(1.0), xs.grad(f)(-1.0))
    4.0 1.0
    """
    if not (callable(true_fun) and callable(false_fun)):
        return _cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = _operands("cond", operands, operand)
    pred = _truth(pred)
    known = concrete(pred) if disable_jit.value else None
    if known is not None:
        return true_fun(*operands) if known else false_fun(*operands)
    index = convert_element_type(pred, np.dtype(np.int32))
    return _choose("cond", index, (false_fun, true_fun), operands, ("false_fun", "true_fun"))


def _truth(pred: Any) -> Any:
    """A predicate as a truth value; raises TypeError where it is none."""
    _check_scalar("cond", "predicate", pred)
    dtype = aval_of(pred).dtype
    if dtype == np.bool_:
        return pred
    if dtype.kind == "c":
        raise TypeError(f"cond takes a predicate of boolean or numeric type, got {dtype.name}{here()}")
    return pred != 0


def _operands(what: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """The operands, however they were given."""
    if operand is _NO_OPERAND:
        return operands
    if operands:
        raise TypeError(f"{what} takes operands either by position or as operand=, not both{here()}")
    return (operand,)


def _cond_with_two_operands(pred: Any, true_operand: Any, true_fun: Any, *rest: Any) -> Any:
    """The older spelling, ``cond(pred, true_operand, true_fun, false_operand, false_fun)``."""
    if len(rest) != 2 or not callable(true_fun) or not callable(rest[1]):
        odd = true_operand if not callable(true_operand) else true_fun
        raise TypeError(f"cond takes two functions, cond(pred, true_fun, false_fun, *operands); got {odd!r}{here()}")
    false_operand, false_fun = rest
    return cond(pred, lambda t, f: true_fun(t), lambda t, f: false_fun(f), true_operand, false_operand)


@api_boundary
def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _NO_OPERAND, linear: Any = None
) -> Any:
    """``branches[index](*operands)``, with ``index`` (an integer scalar) clamped to the branches there are.

    All branches are traced, and have to return trees of one structure with leaves of the same types (the results are
    weak where those of the first are). Raises TypeError where the index is no integer scalar or the results do not
    agree, ValueError without any branch.

    >>> import xlascope as xs
    >>> print(xs.lax.switch(1, [lambda x: x, lambda x: x * 10.0], 2.0))
    20.0
    """
    branches = list(branches)
    if not all(callable(branch) for branch in branches):
        raise TypeError(f"switch takes a sequence of functions, got {branches!r}{here()}")
    if not branches:
        raise ValueError(f"switch needs at least one branch{here()}")
    operands = _operands("switch", operands, operand)
    _check_scalar("switch", "index", index)
    if aval_of(index).dtype.kind not in "iu":
        raise TypeError(f"switch takes an index of integer type, got {aval_of(index).dtype.name}{here()}")
    if len(branches) == 1:
        return branches[0](*operands)
    known = concrete(index) if disable_jit.value else None
    if known is not None:
        return branches[min(max(int(known), 0), len(branches) - 1)](*operands)
    chosen = clamp(np.int32(0), convert_element_type(index, np.dtype(np.int32)), np.int32(len(branches) - 1))
    return _choose("switch", chosen, branches, operands, [f"branches[{i}]" for i in range(len(branches))])


def _choose(
    what: str, index: Any, functions: Sequence[Callable[..., Any]], operands: Sequence[Any], names: Sequence[str]
) -> Any:
    leaves, structure = tree.flatten(tuple(operands))
    avals = [operand_aval(f"an operand of {what}", x) for x in leaves]
    bodies = [body_of(function, structure, avals) for function in functions]
    labels = [f"{name} ({name_of(function)})" for name, function in zip(names, functions, strict=True)]
    for label, body in zip(labels[1:], bodies[1:], strict=True):
        _check_alike(what, labels[0], label, bodies[0], body)
    consts, branches = alike(bodies)
    results = bind(Cond(tuple(branches)), index, *consts, *leaves)
    return bodies[0].structure.unflatten(results)


def _check_alike(what: str, first_name: str, name: str, first: Body, body: Body) -> None:
    """Raise TypeError unless two branches return trees of one structure with leaves of the same types."""
    words = (f"that of {first_name} is", f"that of {name} is")
    check_same_structure(
        f"the functions of {what} have to return trees of one structure",
        "the result",
        words,
        first.structure,
        body.structure,
    )
    found = differing(first.structure, first.program.out_avals, body.program.out_avals, "the result", words)
    if found:
        raise TypeError(
            f"the functions of {what} have to return the same types: {found}{here()}. Convert one of them (astype), "
            f"or give it the other's shape (broadcast_to, zeros_like).{see('loop-types')}"
        )


def _check_scalar(what: str, role: str, x: Any) -> None:
    try:
        shape = aval_of(x).shape
    except TypeError:
        raise TypeError(f"{what} takes a scalar {role}, got {x!r} of type {type(x).__name__}{here()}") from None
    if shape:
        raise TypeError(
            f"{what} takes a scalar {role}, got one of shape {shape}{here()}. To choose element by element use "
            "xlascope.numpy.where; to choose for each example of a batch, vmap."
        )
