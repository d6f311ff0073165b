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
from ...ir.user_frames import locate, where_text
from ...operations.reductions import reduce_or
from ...operations.shapes import mapped_in_front
from ...records import SourceRange
from ...records.traits import LOOP
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.provenance import describe_static_option
from ...trace.source import compose_message, here
from ...trace.state import STATE
from ...trace.values import aval_of
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.dce import dce_program, find_dependent_results, fixed_point, restrict_program
from ...transforms.differentiate import instantiate_zeros, jvp_program
from ...transforms.evaluate import evaluate
from ...transforms.taylor import find_moving, group_indices, taylor_program, unflatten_coefficients
from ...transforms.taylor import flatten_coefficients as taylor_terms
from ..programs.masks import (
    Mask,
    drop_zero_tangents,
    leading_axes,
    mapped_axes_mask,
    nonzero_tangents_mask,
    select_by_mask,
    split_tangents,
)
from ..programs.program_rewrites import latest_program, permute_program
from .per_example_select import select_per_example


class While(Operation, name="while"):
    """Operation that applies a body to the carry as long as a condition on the carry holds.

    The operands are the condition's constants, the body's constants, and the carry; the results are the final carry.
    """

    traits = LOOP
    composite = True

    body_jaxpr: ClosedJaxpr
    body_nconsts: int
    cond_jaxpr: ClosedJaxpr
    cond_nconsts: int

    @property
    def holder(self) -> ClosedJaxpr:
        return latest_program(self.bodies())

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return self.body_jaxpr, self.cond_jaxpr

    def split_operands(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Split the operands into three: constants of the condition, constants of the body, and the carry.

        Any sequence of values that correspond to the operands can be split.
        """
        first, second = self.cond_nconsts, self.cond_nconsts + self.body_nconsts
        return operands[:first], operands[first:second], operands[second:]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return self.body_jaxpr.out_avals

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        avals = builder.in_avals
        if not avals:  # nothing goes in, so nothing comes out
            return []
        if builder.needs_token(self.cond_jaxpr.effects):
            return self._lower_with_carried_condition(builder, operands)

        def condition(*values: Any) -> list[Any]:
            return self._lower_condition(builder, values)

        def body(*values: Any) -> list[Any]:
            cond_consts, body_consts, carry = self.split_operands(values)
            return [*cond_consts, *body_consts, *builder.call_body(self.body_jaxpr, [*body_consts, *carry], 0)]

        with_token = builder.needs_token(self.body_jaxpr.effects)
        return list(self.split_operands(builder.while_loop(operands, avals, condition, body, with_token=with_token))[2])

    def _lower_condition(self, builder: Any, values: Sequence[Any]) -> list[Any]:
        cond_consts, _, carry = self.split_operands(values)
        # XLA ends the process over a condition that calls a function of an array without elements.
        has_elements = all(aval.size for aval in self.cond_jaxpr.in_avals)
        emit_call = builder.call_body if has_elements else builder.write_body
        return emit_call(self.cond_jaxpr, [*cond_consts, *carry], 1)  # type: ignore[no-any-return]

    def _lower_with_carried_condition(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Lower a loop whose condition has effects, such as calling Python.

        In XLA a condition returns nothing but its boolean result. So the condition is evaluated before the loop and
        at the end of the body, and its result is carried.
        """
        avals = [*self.cond_jaxpr.out_avals, *builder.in_avals]

        def body(_: Any, *values: Any) -> list[Any]:
            cond_consts, body_consts, carry = self.split_operands(values)
            carry = builder.call_body(self.body_jaxpr, [*body_consts, *carry], 0)
            next_values = [*cond_consts, *body_consts, *carry]
            return [*self._lower_condition(builder, next_values), *next_values]

        start = [*self._lower_condition(builder, operands), *operands]
        results = builder.while_loop(start, avals, lambda answer, *_: [answer], body, with_token=True)
        return list(self.split_operands(results[1:])[2])

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        cond_consts, body_consts, carry = self.split_operands(tuple(operands))
        carry = fixed_point(lambda marks: find_dependent_results(self.body_jaxpr, (*body_consts, *marks)), tuple(carry))
        condition_depends = find_dependent_results(self.cond_jaxpr, (*cond_consts, *carry))[0]
        return self._mark_changed_carry(carry) if condition_depends else list(carry)

    def _mark_changed_carry(self, marks: Sequence[bool]) -> list[bool]:
        """Return the mask of carry values that are marked or that the body changes.

        Changed values depend on the number of iterations.
        """
        jaxpr = self.body_jaxpr.jaxpr
        start = jaxpr.invars[self.body_nconsts :]
        return [m or y is not x for m, x, y in zip(marks, start, jaxpr.outvars, strict=True)]

    def dce_rule(self, used: Mask) -> tuple[Operation, Mask, Mask]:
        """Return the loop that computes only what the condition and the results marked in ``used`` need.

        Also returns the mask of the operands that it takes, and the mask of the results that it returns: the carry that
        it keeps, which includes those in ``used``.
        """
        first, second = self.cond_nconsts, self.body_nconsts
        needed_by_cond = dce_program(self.cond_jaxpr, (True,))[1]
        used_carry = tuple(a or b for a, b in zip(used, needed_by_cond[first:], strict=True))
        used_carry = fixed_point(lambda marks: dce_program(self.body_jaxpr, marks)[1][second:], used_carry)
        cond_consts, body_consts = needed_by_cond[:first], dce_program(self.body_jaxpr, used_carry)[1][:second]
        body = restrict_program(self.body_jaxpr, used_carry, (*body_consts, *used_carry))
        condition = restrict_program(self.cond_jaxpr, (True,), (*cond_consts, *used_carry))
        loop = While(body, sum(body_consts), condition, sum(cond_consts))
        return loop, (*cond_consts, *body_consts, *used_carry), used_carry

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        loop, operands, out_moving = self._build_jvp_loop(primals, tangents)
        return split_tangents(bind(loop, *operands), out_moving)

    def taylor_program_rule(
        self, primals: Sequence[Any], series: Sequence[Sequence[Any]]
    ) -> tuple[list[Any], list[list[Any]]]:
        cond_consts, consts, carry = self.split_operands(primals)
        _, marks, start = self.split_operands(find_moving(series))
        order, n, count = len(series[0]), len(consts), len(carry)
        carry_marks = fixed_point(lambda m: taylor_program(self.body_jaxpr, order, (*marks, *m))[1], tuple(start))
        body, _ = taylor_program(self.body_jaxpr, order, (*marks, *carry_marks), carry_marks)
        operand_order = group_indices([range(n), range(n, n + count)], (*marks, *carry_marks), order)
        primal_operands = [*consts, *carry]
        operands = [
            *primal_operands,
            *taylor_terms(primal_operands, series[len(cond_consts) :], (*marks, *carry_marks)),
        ]
        body = permute_program(body, operand_order, range(count + order * sum(carry_marks)))
        leading = n + order * sum(marks)
        condition = _extend_condition(self.cond_jaxpr, body.in_avals[leading + count :])
        loop = While(body, leading, condition, self.cond_nconsts)
        results = bind(loop, *cond_consts, *(operands[index] for index in operand_order))
        return results[:count], unflatten_coefficients(results[count:], carry_marks, order)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the loop now, and record a loop that runs it again with tangents.

        The number of iterations is not known, so residuals cannot be allocated.
        """
        loop, operands, out_moving = self._build_jvp_loop(primals, tangents)
        results = bind(self, *primals)
        if not any(out_moving):
            return results, [ZERO] * len(out_moving)
        types = loop.abstract_eval([aval_of(x) for x in operands])
        return results, split_tangents(STATE.trace.record(loop, operands, types), out_moving)[1]

    def _build_jvp_loop(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[While, list[Any], Mask]:
        """Return the loop that also carries tangents, its operands, and the mask of carry values with tangents."""
        cond_consts, consts, carry = self.split_operands(primals)
        _, const_tangents, carry_tangents = self.split_operands(tangents)
        marks = nonzero_tangents_mask(const_tangents)
        carry_marks = fixed_point(
            lambda m: jvp_program(self.body_jaxpr, (*marks, *m))[1], nonzero_tangents_mask(carry_tangents)
        )
        body, _ = jvp_program(self.body_jaxpr, (*marks, *carry_marks), carry_marks)
        # The derivative takes (consts, carry, their tangents); a loop wants its consts' tangents before the carry.
        n, m, k = len(consts), len(carry), sum(marks)
        order = [*range(n), *range(n + m, n + m + k), *range(n, n + m), *range(n + m + k, n + m + k + sum(carry_marks))]
        body = permute_program(body, order, range(m + sum(carry_marks)))
        condition = _extend_condition(self.cond_jaxpr, body.in_avals[n + k + m :])
        carry_tangents_in = select_by_mask(
            instantiate_zeros(carry_tangents, self.body_jaxpr.out_avals, carry_marks), carry_marks
        )
        loop = While(body, n + k, condition, self.cond_nconsts)
        return (
            loop,
            [*cond_consts, *consts, *drop_zero_tangents(const_tangents), *carry, *carry_tangents_in],
            carry_marks,
        )

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        _raise_not_reversible()

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        cond_consts, consts, carry = self.split_operands(operands)
        cond_axes, const_axes, carry_axes = self.split_operands(tuple(axes))
        marks = self._find_mapped_carry(cond_axes, const_axes, mapped_axes_mask(carry_axes), size)
        inner = tuple(leading_axes(marks))
        condition, (condition_axis,) = batch_program(self.cond_jaxpr, (*cond_axes, *inner), size)
        body = batch_program(self.body_jaxpr, (*const_axes, *inner), size, marks)[0]
        carry = [mapped_in_front(x, a, size) if m else x for x, a, m in zip(carry, carry_axes, marks, strict=True)]
        count = len(cond_consts)
        out_axes = leading_axes(marks)
        if condition_axis is NOT_MAPPED:
            loop = While(body, len(consts), condition, count)
            return bind(loop, *cond_consts, *consts, *carry), out_axes
        if is_io(self.effects):
            raise NotImplementedError(
                f"IO effects not supported in a while_loop whose condition differs from example to example{here()}: "
                "the body runs for all examples until the last has come to its end, and io_callback would be called "
                "for those that had. Use lax.map in place of vmap"
            )
        loop = While(
            _build_masked_body(body, condition, count, len(consts)),
            count + len(consts),
            _batch_condition_with_any(condition),
            count,
        )
        return bind(loop, *cond_consts, *cond_consts, *consts, *carry), out_axes

    def _find_mapped_carry(self, cond_axes: Sequence[Any], const_axes: Sequence[Any], start: Mask, size: int) -> Mask:
        """Return the mask of carry values that need a batch axis, given that of the initial carry (``start``).

        ``cond_axes`` and ``const_axes`` are the batch axes of the condition's and the body's constants, ``size`` is
        the batch size. If the condition is mapped, all values that the body changes need one.
        """

        def step(marks: Mask) -> Sequence[bool]:
            inner = leading_axes(marks)
            (condition_axis,) = batch_program(self.cond_jaxpr, (*cond_axes, *inner), size)[1]
            if condition_axis is not NOT_MAPPED:
                return self._mark_changed_carry(marks)
            return mapped_axes_mask(batch_program(self.body_jaxpr, (*const_axes, *inner), size)[1])

        return fixed_point(step, start)


def _extend_condition(condition: ClosedJaxpr, avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """Return the condition of a loop that also carries values of types ``avals``, which the condition ignores."""
    key = ("with more", tuple(avals))
    extended = condition.derived.get(key)
    if extended is None:
        jaxpr = condition.jaxpr
        invars = [*jaxpr.invars, *(Var(a) for a in avals)]
        extended = condition.derived[key] = ClosedJaxpr(Jaxpr((), invars, jaxpr.outvars, jaxpr.raw, jaxpr.name))
    return extended


def _batch_condition_with_any(condition: ClosedJaxpr) -> ClosedJaxpr:
    """Return the condition of a batched loop, which continues as long as any example's condition holds.

    ``condition`` returns a boolean for each example.
    """
    batched_condition = condition.derived.get("any")
    if batched_condition is None:

        def is_any_true(*operands: Any) -> list[Any]:
            return [reduce_or(evaluate(condition, *operands)[0], (0,))]

        batched_condition = condition.derived["any"] = stage(is_any_true, condition.in_avals, condition.name)
    return batched_condition


def _build_masked_body(body: ClosedJaxpr, condition: ClosedJaxpr, cond_consts: int, consts: int) -> ClosedJaxpr:
    """Return the body of a batched loop, in which an example whose condition is false keeps its carry.

    ``cond_consts`` and ``consts`` are the numbers of constants of ``condition`` and ``body``; the new body takes
    both.
    """
    key = ("where going on", body, condition, cond_consts, consts)
    owner = latest_program([body, condition])
    masked_body = owner.derived.get(key)
    if masked_body is None:
        cond_const_avals = condition.in_avals[:cond_consts]

        def step(*operands: Any) -> list[Any]:
            carry = operands[cond_consts + consts :]
            (is_active,) = evaluate(condition, *operands[:cond_consts], *carry)
            results = evaluate(body, *operands[cond_consts:])
            return [y if y is x else select_per_example(is_active, x, y) for y, x in zip(results, carry, strict=True)]

        masked_body = owner.derived[key] = stage(step, [*cond_const_avals, *body.in_avals], body.name)
    return masked_body


def _raise_not_reversible() -> NoReturn:
    """Raise the ValueError about reverse mode through a while loop, with the loop's line and advice."""
    origin = STATE.origin  # the transposed equation: the line of the loop, not that of grad
    loop = None if origin is None else locate(origin.code, origin.lasti)
    problem = (
        "reverse-mode differentiation (grad, vjp) does not work through a while_loop, or a fori_loop whose bounds are "
        "not known while it is traced: the number of steps is not known, so their values cannot be kept."
    )
    bound = None if origin is None or loop is None else _bound_of(origin.code, loop)
    static = "which static arguments are" if bound is None else f"or make {bound}"
    fix = (
        f"Use scan, or fori_loop with Python numbers as bounds, {static}; or forward mode (jvp, jacfwd); or say what "
        "the derivative is with custom_vjp."
    )
    location = where_text(loop) or None
    raise ValueError(compose_message(problem, fix, location) + see("reverse-through-while-loop"))


_FORI_LOOP = re.compile(r"[\w.]*fori_loop\(\s*[^,()]+,\s*(\w+)\s*,")


def _bound_of(code: CodeType, loop: SourceRange) -> str | None:
    """Return how to make static the argument that is the upper bound of a fori_loop.

    ``code`` is the user's function, ``loop`` the call's position in the source. Returns None if the bound is not an
    argument.
    """
    line = linecache.getline(loop.file, loop.line).encode()[loop.column :].decode(errors="replace")  # columns are bytes
    match = _FORI_LOOP.match(line)
    arguments = code.co_varnames[: code.co_argcount]
    if match is None or match[1] not in arguments or not code.co_name.isidentifier():
        return None
    return describe_static_option(match[1], f"static_argnums={arguments.index(match[1])}", code.co_name, code)
