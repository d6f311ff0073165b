"""Checks in branches and loops, which carry the first failure along."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as jnp
from ...control.flow.scan_op import Scan
from ...control.flow.while_op import While
from ...lax import scan, switch, while_loop
from ...operations.varying_axes import make_varying
from ...trace.state import STATE
from ...trace.values import aval_of
from .errors import CheckSite


class CheckFailure(NamedTuple):
    """First failure of a program's checks, as traced values.

    ``number`` is the number of the check that failed, counted from 1, or 0 for none; ``values`` are the message
    values of all checks, one after the other.
    """

    number: Any
    values: list[Any]


class CheckedProgram(NamedTuple):
    """Program with its checks.

    ``sites`` are the checks in order. ``run(operands)`` returns the program's results and the failure; ``compiled``
    is the same, jitted.
    """

    sites: tuple[CheckSite, ...]
    run: Callable[[Sequence[Any]], tuple[list[Any], CheckFailure]]
    compiled: Callable[[Sequence[Any]], tuple[list[Any], CheckFailure]]


def to_strong_type(x: Any) -> Any:
    """Return a value without weak type, as loops and branches carry it."""
    return jnp.asarray(x, aval_of(x).dtype)


def vary(failure: CheckFailure) -> CheckFailure:
    """Return a failure as each device's own, in a shard_map whose types say which values vary between devices.

    So the failures of branches have one type, and those that loops carry along.
    """
    axes = STATE.checked_axes
    if not axes:
        return failure
    return CheckFailure(make_varying(failure.number, axes), [make_varying(x, axes) for x in failure.values])


def no_failure(sites: Iterable[CheckSite]) -> CheckFailure:
    """Return the failure that says that none of the checks ``sites`` failed; its message values are zeros."""
    return vary(CheckFailure(jnp.int32(0), [jnp.zeros(a.shape, a.dtype) for site in sites for a in site.avals]))


def first_failure(earlier: CheckFailure, later: CheckFailure) -> CheckFailure:
    """Return the first of the failures of two successive runs of one program."""
    failed = earlier.number > 0
    values = [jnp.where(failed, x, y) for x, y in zip(earlier.values, later.values, strict=True)]
    return CheckFailure(jnp.where(failed, earlier.number, later.number), values)


def embed_failure(failure: CheckFailure, before: Sequence[CheckSite], after: Sequence[CheckSite]) -> CheckFailure:
    """Return a failure of one program's checks as one of the checks (*before, its own, *after).

    ``before`` and ``after`` are the checks of other programs, which did not run.
    """
    number = jnp.where(failure.number > 0, failure.number + np.int32(len(before)), np.int32(0))
    return CheckFailure(number, [*no_failure(before).values, *failure.values, *no_failure(after).values])


def checked_switch(
    branches: list[CheckedProgram], arguments: Sequence[Any], sites: list[CheckSite]
) -> tuple[list[Any], CheckFailure]:
    """Return the results of the selected branch, and its failure.

    ``arguments`` are the branch index and the branches' operands; ``sites`` are the checks of all branches.
    """

    def branch(branch_number: int) -> Callable[..., Any]:
        before = [site for checked in branches[:branch_number] for site in checked.sites]
        branch_program = branches[branch_number]

        def run_branch(*operands: Any) -> Any:
            results, failure = branch_program.run(operands)
            return results, embed_failure(failure, before, sites[len(before) + len(branch_program.sites) :])

        return run_branch

    index, *operands = arguments
    results, failure = switch(index, [branch(branch_number) for branch_number in range(len(branches))], *operands)
    return results, failure


def checked_scan(operation: Scan, step: CheckedProgram, arguments: Sequence[Any]) -> tuple[list[Any], CheckFailure]:
    """Return the results of a scan, and the failure of the first iteration in which a check failed.

    ``step`` is the checked body, ``arguments`` are the operation's operands.
    """
    consts, init, xs = operation.split_operands(arguments)
    count = operation.num_carry

    def body(state: Any, slices: Any) -> Any:
        carry, before = state
        results, failure = step.run([*consts, *carry, *slices])
        return (results[:count], first_failure(before, failure)), results[count:]

    (carry, failure), stacked = scan(
        body, (list(init), no_failure(step.sites)), list(xs), operation.length, operation.reverse, operation.unroll
    )
    return [*carry, *stacked], failure


def checked_while(
    operation: While, body: CheckedProgram, condition: CheckedProgram, arguments: Sequence[Any]
) -> tuple[list[Any], CheckFailure]:
    """Return the results and the failure of a while loop, given its checked body and condition.

    The condition is evaluated again for its checks: before the loop, and after each iteration.
    """
    cond_consts, body_consts, init = operation.split_operands(arguments)

    def check_condition(carry: Sequence[Any], failure: CheckFailure) -> CheckFailure:
        later = condition.run([*cond_consts, *carry])[1]
        return first_failure(embed_failure(failure, (), condition.sites), embed_failure(later, body.sites, ()))

    def step(state: Any) -> Any:
        carry, before = state
        results, failure = body.run([*body_consts, *carry])
        return results, first_failure(before, check_condition(results, failure))

    def should_continue(state: Any) -> Any:
        return condition.run([*cond_consts, *state[0]])[0][0]

    at_start = check_condition(init, no_failure(body.sites))
    return while_loop(should_continue, step, (list(init), at_start))  # type: ignore[no-any-return]
