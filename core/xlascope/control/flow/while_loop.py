"""The while operation: a program repeated as long as a condition program returns true."""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from types import CodeType
from typing import Any, NoReturn

from ...errors import see
from ...ir.avals import ShapedArray
from ...ir.effects import is_io
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Var
from ...ir.markers import NOT_MAPPED, ZERO
from ...ir.operation import Operation
from ...ir.sources import locate, where_text
from ...operations.reductions import reduce_or
from ...operations.shapes import mapped_in_front
from ...records import SourceRange
from ...records.traits import LOOP
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.source import compose_message, here
from ...trace.state import STATE
from ...trace.values import aval_of
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.dce import dce_program, dependence, fixed_point, restricted_program
from ...transforms.differentiate import instantiated, jvp_program
from ...transforms.evaluate import evaluate
from ...transforms.taylor import in_groups, marked, separated, taylor_program
from ...transforms.taylor import joined as taylor_terms
from ..programs.marks import Marks, axes_in_front, chosen, mapped, moving, present, split_tangents
from ..programs.rearranged import permuted, youngest
from .examples import selected


class While(Operation, name="while"):
    """Operation that applies the body to the last operands (the carry) as long as the condition holds.

    The operands are the condition's constants, the body's constants, and the carry.
    """

    traits = LOOP
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
        """Split the operands (or values that correspond to them) into the condition's, the body's, and the carry."""
        first, second = self.cond_nconsts, self.cond_nconsts + self.body_nconsts
        return operands[:first], operands[first:second], operands[second:]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return self.body_jaxpr.out_avals

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        avals = builder.in_avals
        if not avals:  # nothing goes in, so nothing comes out
            return []
        if builder.passes_token(self.cond_jaxpr.effects):
            return self._with_answer_carried(builder, operands)

        def condition(*values: Any) -> list[Any]:
            return self._decide(builder, values)

        def body(*values: Any) -> list[Any]:
            cond_consts, body_consts, carry = self.split(values)
            return [*cond_consts, *body_consts, *builder.call_body(self.body_jaxpr, [*body_consts, *carry], 0)]

        with_token = builder.passes_token(self.body_jaxpr.effects)
        return list(self.split(builder.while_loop(operands, avals, condition, body, with_token=with_token))[2])

    def _decide(self, builder: Any, values: Sequence[Any]) -> list[Any]:
        cond_consts, _, carry = self.split(values)
        # XLA ends the process over a condition that calls a function of an array without elements.
        has_elements = all(aval.size for aval in self.cond_jaxpr.in_avals)
        emit_call = builder.call_body if has_elements else builder.write_body
        return emit_call(self.cond_jaxpr, [*cond_consts, *carry], 1)  # type: ignore[no-any-return]

    def _with_answer_carried(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Lower a loop whose condition calls Python.

        In XLA a condition returns nothing but its boolean result. So the condition is evaluated before the loop and
        at the end of the body, and its result is carried.
        """
        avals = [*self.cond_jaxpr.out_avals, *builder.in_avals]

        def body(_: Any, *values: Any) -> list[Any]:
            cond_consts, body_consts, carry = self.split(values)
            carry = builder.call_body(self.body_jaxpr, [*body_consts, *carry], 0)
            next_values = [*cond_consts, *body_consts, *carry]
            return [*self._decide(builder, next_values), *next_values]

        start = [*self._decide(builder, operands), *operands]
        results = builder.while_loop(start, avals, lambda answer, *_: [answer], body, with_token=True)
        return list(self.split(results[1:])[2])

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        cond_consts, body_consts, carry = self.split(tuple(operands))
        carry = fixed_point(lambda marks: dependence(self.body_jaxpr, (*body_consts, *marks)), tuple(carry))
        condition_depends = dependence(self.cond_jaxpr, (*cond_consts, *carry))[0]
        return self._decided(carry) if condition_depends else list(carry)

    def _decided(self, marks: Sequence[bool]) -> list[bool]:
        """Return the mask of carry values that the body changes, or that are marked.

        The values that the body changes depend on the number of steps.
        """
        jaxpr = self.body_jaxpr.jaxpr
        start = jaxpr.invars[self.body_nconsts :]
        return [m or y is not x for m, x, y in zip(marks, start, jaxpr.outvars, strict=True)]

    def dce_rule(self, used: Marks) -> tuple[Operation, Marks, Marks]:
        """Return the loop that computes only what the used results and the condition need."""
        first, second = self.cond_nconsts, self.body_nconsts
        needed_by_cond = dce_program(self.cond_jaxpr, (True,))[1]
        used_carry = tuple(a or b for a, b in zip(used, needed_by_cond[first:], strict=True))
        used_carry = fixed_point(lambda marks: dce_program(self.body_jaxpr, marks)[1][second:], used_carry)
        cond_consts, body_consts = needed_by_cond[:first], dce_program(self.body_jaxpr, used_carry)[1][:second]
        body = restricted_program(self.body_jaxpr, used_carry, (*body_consts, *used_carry))
        condition = restricted_program(self.cond_jaxpr, (True,), (*cond_consts, *used_carry))
        loop = While(body, sum(body_consts), condition, sum(cond_consts))
        return loop, (*cond_consts, *body_consts, *used_carry), used_carry

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        loop, operands, out_moving = self._moving(primals, tangents)
        return split_tangents(bind(loop, *operands), out_moving)

    def taylor_program_rule(
        self, primals: Sequence[Any], series: Sequence[Sequence[Any]]
    ) -> tuple[list[Any], list[list[Any]]]:
        cond_consts, consts, carry = self.split(primals)
        _, marks, start = self.split(marked(series))
        order, n, count = len(series[0]), len(consts), len(carry)
        carry_marks = fixed_point(lambda m: taylor_program(self.body_jaxpr, order, (*marks, *m))[1], tuple(start))
        body, _ = taylor_program(self.body_jaxpr, order, (*marks, *carry_marks), carry_marks)
        operand_order = in_groups([range(n), range(n, n + count)], (*marks, *carry_marks), order)
        primal_operands = [*consts, *carry]
        operands = [
            *primal_operands,
            *taylor_terms(primal_operands, series[len(cond_consts) :], (*marks, *carry_marks)),
        ]
        body = permuted(body, operand_order, range(count + order * sum(carry_marks)))
        leading = n + order * sum(marks)
        condition = _with_more(self.cond_jaxpr, body.in_avals[leading + count :])
        loop = While(body, leading, condition, self.cond_nconsts)
        results = bind(loop, *cond_consts, *(operands[index] for index in operand_order))
        return results[:count], separated(results[count:], carry_marks, order)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the loop now, and record a loop that runs it again with tangents.

        The number of steps is not known, so residuals cannot be allocated.
        """
        loop, operands, out_moving = self._moving(primals, tangents)
        results = bind(self, *primals)
        if not any(out_moving):
            return results, [ZERO] * len(out_moving)
        types = loop.abstract_eval([aval_of(x) for x in operands])
        return results, split_tangents(STATE.trace.record(loop, operands, types), out_moving)[1]

    def _moving(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[While, list[Any], Marks]:
        """Return the loop that also carries tangents, its operands, and the mask of carry values with tangents."""
        cond_consts, consts, carry = self.split(primals)
        _, const_tangents, carry_tangents = self.split(tangents)
        marks = moving(const_tangents)
        carry_marks = fixed_point(lambda m: jvp_program(self.body_jaxpr, (*marks, *m))[1], moving(carry_tangents))
        body, _ = jvp_program(self.body_jaxpr, (*marks, *carry_marks), carry_marks)
        # The derivative takes (consts, carry, their tangents); a loop wants its consts' tangents before the carry.
        n, m, k = len(consts), len(carry), sum(marks)
        order = [*range(n), *range(n + m, n + m + k), *range(n, n + m), *range(n + m + k, n + m + k + sum(carry_marks))]
        body = permuted(body, order, range(m + sum(carry_marks)))
        condition = _with_more(self.cond_jaxpr, body.in_avals[n + k + m :])
        carry_tangents_in = chosen(instantiated(carry_tangents, self.body_jaxpr.out_avals, carry_marks), carry_marks)
        loop = While(body, n + k, condition, self.cond_nconsts)
        return loop, [*cond_consts, *consts, *present(const_tangents), *carry, *carry_tangents_in], carry_marks

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        _cannot_reverse()

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        cond_consts, consts, carry = self.split(operands)
        cond_axes, const_axes, carry_axes = self.split(tuple(axes))
        marks = self._mapped(cond_axes, const_axes, mapped(carry_axes), size)
        inner = tuple(axes_in_front(marks))
        condition, (condition_axis,) = batch_program(self.cond_jaxpr, (*cond_axes, *inner), size)
        body = batch_program(self.body_jaxpr, (*const_axes, *inner), size, marks)[0]
        carry = [mapped_in_front(x, a, size) if m else x for x, a, m in zip(carry, carry_axes, marks, strict=True)]
        count = len(cond_consts)
        out_axes = axes_in_front(marks)
        if condition_axis is NOT_MAPPED:
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
        """Return which parts of the carry are mapped; if the condition is mapped, all parts that change are."""

        def step(marks: Marks) -> Sequence[bool]:
            inner = axes_in_front(marks)
            (condition_axis,) = batch_program(self.cond_jaxpr, (*cond_axes, *inner), size)[1]
            if condition_axis is not NOT_MAPPED:
                return self._decided(marks)
            return mapped(batch_program(self.body_jaxpr, (*const_axes, *inner), size)[1])

        return fixed_point(step, start)


def _with_more(condition: ClosedJaxpr, avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """Return the condition of a loop that carries more values, which the condition ignores."""
    key = ("with more", tuple(avals))
    extended = condition.derived.get(key)
    if extended is None:
        jaxpr = condition.jaxpr
        invars = [*jaxpr.invars, *(Var(a) for a in avals)]
        extended = condition.derived[key] = ClosedJaxpr(Jaxpr((), invars, jaxpr.outvars, jaxpr.raw, jaxpr.name))
    return extended


def _any(condition: ClosedJaxpr) -> ClosedJaxpr:
    """Return the condition of a batched loop: it continues as long as any example's condition holds."""
    batched_condition = condition.derived.get("any")
    if batched_condition is None:

        def is_any_true(*operands: Any) -> list[Any]:
            return [reduce_or(evaluate(condition, *operands)[0], (0,))]

        batched_condition = condition.derived["any"] = stage(is_any_true, condition.in_avals, condition.name)
    return batched_condition


def _where_going_on(body: ClosedJaxpr, condition: ClosedJaxpr, cond_consts: int, consts: int) -> ClosedJaxpr:
    """Return the body of a batched loop, in which an example whose condition is false keeps its carry."""
    key = ("where going on", body, condition, cond_consts, consts)
    owner = youngest([body, condition])
    masked_body = owner.derived.get(key)
    if masked_body is None:
        cond_const_avals = condition.in_avals[:cond_consts]

        def step(*operands: Any) -> list[Any]:
            carry = operands[cond_consts + consts :]
            (is_active,) = evaluate(condition, *operands[:cond_consts], *carry)
            results = evaluate(body, *operands[cond_consts:])
            return [y if y is x else selected(is_active, x, y) for y, x in zip(results, carry, strict=True)]

        masked_body = owner.derived[key] = stage(step, [*cond_const_avals, *body.in_avals], body.name)
    return masked_body


def _cannot_reverse() -> NoReturn:
    origin = STATE.origin  # the transposed equation: the line of the loop, not that of grad
    loop = None if origin is None else locate(origin.code, origin.lasti)
    said = (
        "reverse-mode differentiation (grad, vjp) does not work through a while_loop, or a fori_loop whose bounds are "
        "not known while it is traced: the number of steps is not known, so their values cannot be kept."
    )
    bound = None if origin is None or loop is None else _bound_of(origin.code, loop)
    static = "which static arguments are" if bound is None else f"or make {bound[0]} static: {bound[1]}"
    fix = (
        f"Use scan, or fori_loop with Python numbers as bounds, {static}; or forward mode (jvp, jacfwd); or say what "
        "the derivative is with custom_vjp."
    )
    place = where_text(loop) or None
    raise ValueError(compose_message(said, fix, place) + see("reverse-through-while-loop"))


_FORI_LOOP = re.compile(r"[\w.]*fori_loop\(\s*[^,()]+,\s*(\w+)\s*,")


def _bound_of(code: CodeType, loop: SourceRange) -> tuple[str, str] | None:
    """Return the argument that says how often a fori_loop runs, and how it is made static; None where it is none."""
    line = linecache.getline(loop.file, loop.line).encode()[loop.column :].decode(errors="replace")  # columns are bytes
    found = _FORI_LOOP.match(line)
    arguments = code.co_varnames[: code.co_argcount]
    if found is None or found[1] not in arguments or not code.co_name.isidentifier():
        return None
    return found[1], f"jit({code.co_name}, static_argnums={arguments.index(found[1])})"
