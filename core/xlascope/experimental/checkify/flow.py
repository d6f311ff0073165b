"""Checks in branches and loops, which carry the first failure along."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as jnp
from ...control.flow.scan import Scan
from ...control.flow.while_loop import While
from ...lax import scan, switch, while_loop
from ...trace.values import aval_of
from .errors import Site


class Failure(NamedTuple):
    """First failure of a program: the number of the check, 0 for none, and the values of all checks."""

    number: Any
    values: list[Any]


class Checked(NamedTuple):
    """Program with its checks, in order, and the function from operands to results and failure."""

    sites: tuple[Site, ...]
    run: Callable[[Sequence[Any]], tuple[list[Any], Failure]]
    compiled: Callable[[Sequence[Any]], tuple[list[Any], Failure]]


def strong(x: Any) -> Any:
    """Return a value without weak type, as loops and branches carry it."""
    return jnp.asarray(x, aval_of(x).dtype)


def nothing(sites: Iterable[Site]) -> Failure:
    """Return the failure that says that none of these checks failed."""
    return Failure(jnp.int32(0), [jnp.zeros(a.shape, a.dtype) for site in sites for a in site.avals])


def first(earlier: Failure, later: Failure) -> Failure:
    """Return the failure of two runs of one program, the earlier one if both failed."""
    failed = earlier.number > 0
    values = [jnp.where(failed, x, y) for x, y in zip(earlier.values, later.values, strict=True)]
    return Failure(jnp.where(failed, earlier.number, later.number), values)


def among(failure: Failure, before: Sequence[Site], after: Sequence[Site]) -> Failure:
    """Renumber a failure among the checks of other programs, which did not run."""
    number = jnp.where(failure.number > 0, failure.number + np.int32(len(before)), np.int32(0))
    return Failure(number, [*nothing(before).values, *failure.values, *nothing(after).values])


def chosen(branches: list[Checked], arguments: Sequence[Any], sites: list[Site]) -> tuple[list[Any], Failure]:
    """Return the results of the selected branch, and its failure; ``sites`` are the checks of all branches."""

    def branch(branch_number: int) -> Callable[..., Any]:
        before = [site for checked in branches[:branch_number] for site in checked.sites]
        branch_program = branches[branch_number]

        def run_branch(*operands: Any) -> Any:
            results, failure = branch_program.run(operands)
            return results, among(failure, before, sites[len(before) + len(branch_program.sites) :])

        return run_branch

    index, *operands = arguments
    results, failure = switch(index, [branch(branch_number) for branch_number in range(len(branches))], *operands)
    return results, failure


def scanned(operation: Scan, step: Checked, arguments: Sequence[Any]) -> tuple[list[Any], Failure]:
    """Return the results of a scan, and the failure of the first step in which a check failed."""
    consts, init, xs = operation.split(arguments)
    count = operation.num_carry

    def body(state: Any, slices: Any) -> Any:
        carry, before = state
        results, failure = step.run([*consts, *carry, *slices])
        return (results[:count], first(before, failure)), results[count:]

    (carry, failure), stacked = scan(
        body, (list(init), nothing(step.sites)), list(xs), operation.length, operation.reverse, operation.unroll
    )
    return [*carry, *stacked], failure


def loop(operation: While, body: Checked, condition: Checked, arguments: Sequence[Any]) -> tuple[list[Any], Failure]:
    """Return the results and the failure of a while loop.

    The condition is evaluated again for its checks: before the loop, and after each step.
    """
    cond_consts, body_consts, init = operation.split(arguments)

    def check_condition(carry: Sequence[Any], failure: Failure) -> Failure:
        later = condition.run([*cond_consts, *carry])[1]
        return first(among(failure, (), condition.sites), among(later, body.sites, ()))

    def step(state: Any) -> Any:
        carry, before = state
        results, failure = body.run([*body_consts, *carry])
        return results, first(before, check_condition(results, failure))

    def should_continue(state: Any) -> Any:
        return condition.run([*cond_consts, *state[0]])[0][0]

    at_start = check_condition(init, nothing(body.sites))
    return while_loop(should_continue, step, (list(init), at_start))  # type: ignore[no-any-return]
