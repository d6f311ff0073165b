"""while_loop: a program repeated as long as another one says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ... import tree
from ...dtypes import promote
from ...errors import ConcretizationTypeError, see
from ...ir.avals import ShapedArray, strengthened
from ...ir.effects import is_io, is_ordered
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Var
from ...ir.markers import NOT_MAPPED, ZERO
from ...ir.operation import Operation
from ...operations.arithmetic import select_n
from ...operations.reductions import reduce_or
from ...operations.shapes import expand_dims, mapped_in_front
from ...runtime.boot import disable_jit
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.source import here
from ...trace.state import STATE
from ...trace.traceback_filtering import api_boundary
from ...trace.values import aval_of
from ...transforms.batch import batch_program, batch_size
from ...transforms.dce import dce_program, dependence, fixed_point, restricted_program
from ...transforms.differentiate import instantiated, jvp_program
from ...transforms.evaluate import evaluate
from ...transforms.taylor import in_groups, marked, separated, taylor_program
from ...transforms.taylor import joined as taylor_terms
from ..programs.agreement import check_same_structure, differing
from ..programs.bodies import Body, body_of
from ..programs.names import name_of
from ..programs.rearranged import permuted, youngest
from ..programs.values import as_type, operand_aval

Marks = tuple[bool, ...]


class While(Operation, name="while"):
    """The last operands (the carry) taken through the body as long as the condition holds.

    The operands are what the condition closes over, what the body closes over, and the carry.
    """

    composite = True

    body_jaxpr: ClosedJaxpr
    body_nconsts: int
    cond_jaxpr: ClosedJaxpr
    cond_nconsts: int

    @property
    def holder(self) -> ClosedJaxpr:
        return youngest(self.bodies())

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return self.body_jaxpr, self.cond_jaxpr

    def split(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Operands (or what belongs to them) of the condition, of the body, and the carry."""
        first, second = self.cond_nconsts, self.cond_nconsts + self.body_nconsts
        return operands[:first], operands[first:second], operands[second:]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return self.body_jaxpr.out_avals

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        avals = builder.in_avals
        if not avals:  # nothing goes in, so nothing comes out
            return []
        if is_ordered(self.cond_jaxpr.effects):
            return self._with_answer_carried(builder, operands)

        def condition(*values: Any) -> list[Any]:
            return self._decide(builder, values)

        def body(*values: Any) -> list[Any]:
            cond_consts, body_consts, carry = self.split(values)
            return [*cond_consts, *body_consts, *builder.call_body(self.body_jaxpr, [*body_consts, *carry], 0)]

        ordered = is_ordered(self.body_jaxpr.effects)
        return list(self.split(builder.while_loop(operands, avals, condition, body, ordered=ordered))[2])

    def _decide(self, builder: Any, values: Sequence[Any]) -> list[Any]:
        cond_consts, _, carry = self.split(values)
        return builder.call_body(self.cond_jaxpr, [*cond_consts, *carry], 1)  # type: ignore[no-any-return]

    def _with_answer_carried(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """The loop in XLA's terms for a condition with ordered effects: nothing but an answer can come out of a
        condition there, so the condition is asked before the loop and at the end of the body, and its answer carried.
        """
        avals = [*self.cond_jaxpr.out_avals, *builder.in_avals]

        def body(_: Any, *values: Any) -> list[Any]:
            cond_consts, body_consts, carry = self.split(values)
            carry = builder.call_body(self.body_jaxpr, [*body_consts, *carry], 0)
            following = [*cond_consts, *body_consts, *carry]
            return [*self._decide(builder, following), *following]

        start = [*self._decide(builder, operands), *operands]
        results = builder.while_loop(start, avals, lambda answer, *_: [answer], body, ordered=True)
        return list(self.split(results[1:])[2])

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        cond_consts, body_consts, carry = self.split(tuple(operands))
        carry = fixed_point(lambda marks: dependence(self.body_jaxpr, (*body_consts, *marks)), tuple(carry))
        deciding = dependence(self.cond_jaxpr, (*cond_consts, *carry))[0]
        return [True] * len(carry) if deciding else list(carry)

    def dce_rule(self, used: Marks) -> tuple[Operation, Marks, Marks]:
        """The loop of what the used results and the condition need."""
        first, second = self.cond_nconsts, self.body_nconsts
        needed_by_cond = dce_program(self.cond_jaxpr, (True,))[1]
        wanted = tuple(a or b for a, b in zip(used, needed_by_cond[first:], strict=True))
        wanted = fixed_point(lambda marks: dce_program(self.body_jaxpr, marks)[1][second:], wanted)
        cond_consts, body_consts = needed_by_cond[:first], dce_program(self.body_jaxpr, wanted)[1][:second]
        body = restricted_program(self.body_jaxpr, wanted, (*body_consts, *wanted))
        condition = restricted_program(self.cond_jaxpr, (True,), (*cond_consts, *wanted))
        loop = While(body, sum(body_consts), condition, sum(cond_consts))
        return loop, (*cond_consts, *body_consts, *wanted), wanted

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        loop, operands, moving = self._moving(primals, tangents)
        results = bind(loop, *operands)
        count = len(moving)
        moved = iter(results[count:])
        return results[:count], [next(moved) if m else ZERO for m in moving]

    def taylor_program_rule(
        self, primals: Sequence[Any], series: Sequence[Sequence[Any]]
    ) -> tuple[list[Any], list[list[Any]]]:
        cond_consts, consts, carry = self.split(primals)
        _, marks, start = self.split(marked(series))
        order, n, count = len(series[0]), len(consts), len(carry)
        moving = fixed_point(lambda m: taylor_program(self.body_jaxpr, order, (*marks, *m))[1], tuple(start))
        body, _ = taylor_program(self.body_jaxpr, order, (*marks, *moving), moving)
        places = in_groups([range(n), range(n, n + count)], (*marks, *moving), order)
        known = [*consts, *carry]
        operands = [*known, *taylor_terms(known, series[len(cond_consts) :], (*marks, *moving))]
        body = permuted(body, places, range(count + order * sum(moving)))
        leading = n + order * sum(marks)
        condition = _with_more(self.cond_jaxpr, body.in_avals[leading + count :])
        loop = While(body, leading, condition, self.cond_nconsts)
        results = bind(loop, *cond_consts, *(operands[place] for place in places))
        return results[:count], separated(results[count:], moving, order)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the loop now, and record one that runs it again with tangents: the number of steps is not known, so
        there is no room to keep residuals.
        """
        loop, operands, moving = self._moving(primals, tangents)
        results = bind(self, *primals)
        if not any(moving):
            return results, [ZERO] * len(moving)
        types = loop.abstract_eval([aval_of(x) for x in operands])
        moved = iter(STATE.trace.record(loop, operands, types)[len(moving) :])
        return results, [next(moved) if m else ZERO for m in moving]

    def _moving(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[While, list[Any], Marks]:
        """The loop that carries tangents along, its operands, and which parts of the carry move."""
        cond_consts, consts, carry = self.split(primals)
        _, const_tangents, carry_tangents = self.split(tangents)
        marks = tuple(t is not ZERO for t in const_tangents)
        start = tuple(t is not ZERO for t in carry_tangents)
        moving = fixed_point(lambda m: jvp_program(self.body_jaxpr, (*marks, *m))[1], start)
        body, _ = jvp_program(self.body_jaxpr, (*marks, *moving), moving)
        # The derivative takes (consts, carry, their tangents); a loop wants its consts' tangents before the carry.
        n, m, k = len(consts), len(carry), sum(marks)
        order = [*range(n), *range(n + m, n + m + k), *range(n, n + m), *range(n + m + k, n + m + k + sum(moving))]
        body = permuted(body, order, range(m + sum(moving)))
        condition = _with_more(self.cond_jaxpr, body.in_avals[n + k + m :])
        avals = self.body_jaxpr.out_avals
        moved = [t for t, go in zip(instantiated(carry_tangents, avals, moving), moving, strict=True) if go]
        known = [t for t in const_tangents if t is not ZERO]
        loop = While(body, n + k, condition, self.cond_nconsts)
        return loop, [*cond_consts, *consts, *known, *carry, *moved], moving

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        _cannot_reverse()

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        cond_consts, consts, carry = self.split(operands)
        cond_axes, const_axes, carry_axes = self.split(tuple(axes))
        mapped = self._mapped(cond_axes, const_axes, tuple(a is not NOT_MAPPED for a in carry_axes), size)
        inner = tuple(0 if m else NOT_MAPPED for m in mapped)
        condition, (deciding,) = batch_program(self.cond_jaxpr, (*cond_axes, *inner), size)
        body = batch_program(self.body_jaxpr, (*const_axes, *inner), size, mapped)[0]
        carry = [mapped_in_front(x, a, size) if m else x for x, a, m in zip(carry, carry_axes, mapped, strict=True)]
        count = len(cond_consts)
        out_axes = [0 if m else NOT_MAPPED for m in mapped]
        if deciding is NOT_MAPPED:
            loop = While(body, len(consts), condition, count)
            return bind(loop, *cond_consts, *consts, *carry), out_axes
        if is_io(self.effects):
            raise NotImplementedError(
                f"IO effects not supported in a while_loop whose condition differs from example to example{here()}: "
                "the body runs for all examples until the last has come to its end, and io_callback would be called "
                "for those that had. Use lax.map in place of vmap"
            )
        loop = While(_where_going_on(body, condition, count, len(consts)), count + len(consts), _any(condition), count)
        return bind(loop, *cond_consts, *cond_consts, *consts, *carry), out_axes

    def _mapped(self, cond_axes: Sequence[Any], const_axes: Sequence[Any], start: Marks, size: int) -> Marks:
        """Which parts of the carry differ from example to example: all, where the condition does."""

        def step(marks: Marks) -> Sequence[bool]:
            inner = tuple(0 if m else NOT_MAPPED for m in marks)
            (deciding,) = batch_program(self.cond_jaxpr, (*cond_axes, *inner), size)[1]
            if deciding is not NOT_MAPPED:
                return [True] * len(marks)
            return [a is not NOT_MAPPED for a in batch_program(self.body_jaxpr, (*const_axes, *inner), size)[1]]

        return fixed_point(step, start)


def _with_more(condition: ClosedJaxpr, avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """The condition of a loop that carries more, of which it takes no notice."""
    key = ("with more", tuple(avals))
    found = condition.derived.get(key)
    if found is None:
        jaxpr = condition.jaxpr
        invars = [*jaxpr.invars, *(Var(a) for a in avals)]
        found = condition.derived[key] = ClosedJaxpr(Jaxpr((), invars, jaxpr.outvars, jaxpr.raw, jaxpr.name))
    return found


def _any(condition: ClosedJaxpr) -> ClosedJaxpr:
    """The condition of a loop over a batch: it goes on as long as any example wants to."""
    found = condition.derived.get("any")
    if found is None:

        def wanted(*operands: Any) -> list[Any]:
            return [reduce_or(evaluate(condition, *operands)[0], (0,))]

        found = condition.derived["any"] = stage(wanted, condition.in_avals, condition.name)
    return found


def _where_going_on(body: ClosedJaxpr, condition: ClosedJaxpr, cond_consts: int, consts: int) -> ClosedJaxpr:
    """The body of a loop over a batch: an example that has come to its end keeps its carry."""
    key = ("where going on", body, condition, cond_consts, consts)
    keeper = youngest([body, condition])
    found = keeper.derived.get(key)
    if found is None:
        decisive = condition.in_avals[:cond_consts]

        def step(*operands: Any) -> list[Any]:
            carry = operands[cond_consts + consts :]
            (going,) = evaluate(condition, *operands[:cond_consts], *carry)
            results = evaluate(body, *operands[cond_consts:])
            return [_chosen(going, new, old) for new, old in zip(results, carry, strict=True)]

        found = keeper.derived[key] = stage(step, [*decisive, *body.in_avals], body.name)
    return found


def _chosen(going: Any, new: Any, old: Any) -> Any:
    rank = len(aval_of(new).shape)
    return select_n(expand_dims(going, tuple(range(1, rank))) if rank > 1 else going, old, new)


def _cannot_reverse() -> NoReturn:
    raise ValueError(
        f"reverse-mode differentiation (grad, vjp) does not work through a while_loop, or a fori_loop whose bounds are "
        f"not known while it is traced{here()}: the number of steps is not known, so their values "
        "cannot be kept. Use scan, or fori_loop with Python numbers as bounds; or forward mode (jvp, jacfwd); or say "
        "what the derivative is with custom_vjp, or custom_root for a solver." + see("reverse-through-while-loop")
    )


# As users call it ---------------------------------------------------------------------------------------------------


@api_boundary
def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """``init_val`` taken through ``body_fun`` as long as ``cond_fun`` of it is true.

    ``body_fun`` returns a tree like its argument, with leaves of the same types; ``cond_fun`` a boolean scalar. Can be
    differentiated in forward mode. Raises TypeError where the functions do not fit.

    >>> import xlascope as xs
    >>> print(xs.lax.while_loop(lambda x: x < 100, lambda x: 3 * x, 1))
    243
    """
    for name, function in (("cond_fun", cond_fun), ("body_fun", body_fun)):
        if not callable(function):
            raise TypeError(f"while_loop takes functions; {name} is {function!r}{here()}")
    if disable_jit.value:
        try:
            return _while_in_python(cond_fun, body_fun, init_val)
        except ConcretizationTypeError:  # vmap: it is the examples that decide
            pass
    carry, structure = tree.flatten(init_val)
    arguments = tree.structure((init_val,))
    avals = [operand_aval("the initial value of while_loop", x) for x in carry]
    avals, body = carry_types("while_loop", body_fun, lambda a: body_of(body_fun, arguments, a), structure, avals)
    condition = body_of(cond_fun, arguments, avals)
    _check_condition(cond_fun, condition)
    carry = [as_type(x, aval) for x, aval in zip(carry, avals, strict=True)]
    loop = While(body.opened, len(body.consts), condition.opened, len(condition.consts))
    return structure.unflatten(bind(loop, *condition.consts, *body.consts, *carry))


def _while_in_python(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], value: Any) -> Any:
    """The same, step by step, for ``disable_jit``."""
    while cond_fun(value):
        value = body_fun(value)
    return value


def _check_condition(cond_fun: Callable[..., Any], condition: Body) -> None:
    found = condition.program.out_avals
    if condition.structure != tree.structure(0):
        raise TypeError(
            f"cond_fun of while_loop ({name_of(cond_fun)}) has to return a boolean scalar, it returns a tree with "
            f"structure {condition.structure}{here()}"
        )
    if found[0].shape or found[0].dtype != np.bool_:
        raise TypeError(
            f"cond_fun of while_loop ({name_of(cond_fun)}) has to return a boolean scalar, it returns "
            f"{found[0].str_short()}{here()}"
        )


def carry_types(
    what: str,
    function: Callable[..., Any],
    staged: Callable[[list[ShapedArray]], Body],
    structure: Any,
    avals: Sequence[ShapedArray],
) -> tuple[list[ShapedArray], Body]:
    """The types of a loop's carry, and the body staged for them; raises TypeError where it does not come back as it
    went in.

    A Python number that comes back as another type (0 as a float) is an array of that type from the start.
    """
    avals = list(avals)
    while True:
        body = staged(avals)
        out = body.program.out_avals[: len(avals)]
        if body.structure != structure:
            break
        wider = [strengthened(b) if _gives_way(a, b) else a for a, b in zip(avals, out, strict=True)]
        if wider == avals:
            break
        avals = wider
    check_carry(what, function, structure, avals, body)
    return avals, body


def _gives_way(a: ShapedArray, b: ShapedArray) -> bool:
    """Whether a weak type becomes another when it meets it."""
    if not a.weak_type or a.dtype == b.dtype or a.shape != b.shape:
        return False
    return promote(((a.dtype, True), (b.dtype, b.weak_type)))[0] == b.dtype


def check_carry(
    what: str, function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray], body: Body
) -> None:
    """Raise TypeError unless a loop's body returns the carry as it was given it."""
    name = name_of(function)
    task = f"the body of {what} ({name}) has to return what it carries along"
    words = ("it goes in as", "comes out as")
    check_same_structure(f"{task} in the structure in which it got it", "the carry", words, structure, body.structure)
    found = differing(structure, avals, body.program.out_avals[: len(avals)], "the carry", words)
    if found:
        raise TypeError(
            f"{task} with the types it got: {found}{here()}. Convert one of them (astype, or a start value of the "
            f"right type and shape).{see('loop-types')}"
        )
