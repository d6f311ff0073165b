"""The programs that an operation runs, one after the other, so that they can be inspected one by one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from ...ir.jaxpr import ClosedJaxpr
from ...ir.operation import Operation
from ...xla.arrays.key_array import KeyArray
from ..flow.cond_op import Cond
from ..flow.scan_op import Scan
from ..flow.while_op import While
from ..programs.call import CallOperation
from ..programs.call import bind_call as call_program
from ..rules.linear_solve import LinearSolve


class ProgramRun(NamedTuple):
    """One run of a program that an operation holds, such as one iteration of a loop.

    ``label`` describes the run (``step 3 of scan``); ``operands`` are concrete values.
    """

    label: str
    program: ClosedJaxpr
    operands: Sequence[Any]


#: Generator that yields each run and is sent the run's results.
ProgramRuns = Generator[ProgramRun, list[Any], None]


@singledispatch
def iterate_runs(operation: Operation, operands: Sequence[Any]) -> ProgramRuns:
    """Yield the runs of an operation's programs on concrete operands, in order.

    The caller runs each program and sends its results to the generator, which needs them for the operands of the next
    run. An operation without programs yields nothing.
    """
    called_program = operation.as_single_program()
    if called_program is not None:
        yield ProgramRun(called_program.name, called_program, operands)


@iterate_runs.register
def _(operation: CallOperation, operands: Sequence[Any]) -> ProgramRuns:
    yield ProgramRun(operation.jaxpr.name, operation.jaxpr, operands)


@iterate_runs.register
def _(operation: Scan, operands: Sequence[Any]) -> ProgramRuns:
    consts, carry, xs = operation.split_operands(operands)
    arrays: list[Any] = [x if x.__class__ is KeyArray else np.asarray(x) for x in xs]
    order = range(operation.length)
    for index in reversed(order) if operation.reverse else order:
        results = yield ProgramRun(
            f"step {index} of scan", operation.jaxpr, [*consts, *carry, *(x[index] for x in arrays)]
        )
        carry = results[: operation.num_carry]


@iterate_runs.register
def _(operation: While, operands: Sequence[Any]) -> ProgramRuns:
    cond_consts, body_consts, carry = operation.split_operands(operands)
    count = 0
    while np.asarray(call_program(operation.cond_jaxpr, [*cond_consts, *carry])[0]):
        carry = yield ProgramRun(f"step {count} of while", operation.body_jaxpr, [*body_consts, *carry])
        count += 1


@iterate_runs.register
def _(operation: Cond, operands: Sequence[Any]) -> ProgramRuns:
    index = int(np.clip(np.asarray(operands[0]), 0, len(operation.branches) - 1))
    yield ProgramRun(f"branch {index} of cond", operation.branches[index], operands[1:])


@iterate_runs.register
def _(operation: LinearSolve, operands: Sequence[Any]) -> ProgramRuns:
    consts, b = operation.split_operands(operands)
    yield ProgramRun("the solver", operation.jaxprs.solve, [*consts.solve, *b])
