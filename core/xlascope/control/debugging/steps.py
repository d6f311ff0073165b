"""The programs that an operation runs, one after the other, so that they can be inspected one by one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from ...ir.jaxpr import ClosedJaxpr
from ...ir.operation import Operation
from ...xla.arrays.key_array import KeyArray
from ..flow.cond import Cond
from ..flow.scan import Scan
from ..flow.while_loop import While
from ..programs.call import Calling
from ..programs.call import call as call_program
from ..rules.linear_solve import LinearSolve


class Step(NamedTuple):
    """One run of a program that an operation holds: a label, the program and its operands."""

    label: str
    program: ClosedJaxpr
    operands: Sequence[Any]


#: Generator that yields each run and is sent the run's results.
Steps = Generator[Step, list[Any], None]


@singledispatch
def steps_of(operation: Operation, operands: Sequence[Any]) -> Steps:
    """Yield the runs of an operation's programs on concrete operands, in order.

    An operation without programs yields nothing.
    """
    called_program = operation.whole()
    if called_program is not None:
        yield Step(called_program.name, called_program, operands)


@steps_of.register
def _(operation: Calling, operands: Sequence[Any]) -> Steps:
    yield Step(operation.jaxpr.name, operation.jaxpr, operands)


@steps_of.register
def _(operation: Scan, operands: Sequence[Any]) -> Steps:
    consts, carry, xs = operation.split(operands)
    arrays: list[Any] = [x if x.__class__ is KeyArray else np.asarray(x) for x in xs]
    order = range(operation.length)
    for index in reversed(order) if operation.reverse else order:
        results = yield Step(f"step {index} of scan", operation.jaxpr, [*consts, *carry, *(x[index] for x in arrays)])
        carry = results[: operation.num_carry]


@steps_of.register
def _(operation: While, operands: Sequence[Any]) -> Steps:
    cond_consts, body_consts, carry = operation.split(operands)
    count = 0
    while np.asarray(call_program(operation.cond_jaxpr, [*cond_consts, *carry])[0]):
        carry = yield Step(f"step {count} of while", operation.body_jaxpr, [*body_consts, *carry])
        count += 1


@steps_of.register
def _(operation: Cond, operands: Sequence[Any]) -> Steps:
    index = int(np.clip(np.asarray(operands[0]), 0, len(operation.branches) - 1))
    yield Step(f"branch {index} of cond", operation.branches[index], operands[1:])


@steps_of.register
def _(operation: LinearSolve, operands: Sequence[Any]) -> Steps:
    consts, b = operation.split(operands)
    yield Step("the solver", operation.jaxprs.solve, [*consts.solve, *b])
