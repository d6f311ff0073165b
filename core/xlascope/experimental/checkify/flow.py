"""Checks in branches and loops: what failed is carried along."""

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
    """The number of the check that failed first, 0 for none, and what all checks tell of."""

    number: Any
    values: list[Any]


class Checked(NamedTuple):
    """A program's checks, in order, and the function that runs it: of operands, its results and what failed."""

    sites: tuple[Site, ...]
    run: Callable[[Sequence[Any]], tuple[list[Any], Failure]]
    compiled: Callable[[Sequence[Any]], tuple[list[Any], Failure]]


def strong(x: Any) -> Any:
    """A value whose type loops and branches can carry."""
    return jnp.asarray(x, aval_of(x).dtype)


def nothing(sites: Iterable[Site]) -> Failure:
    """That none of these checks failed."""
    return Failure(jnp.int32(0), [jnp.zeros(a.shape, a.dtype) for site in sites for a in site.avals])


def first(one: Failure, other: Failure) -> Failure:
    """Of two runs of one program that which failed, the first if both did."""
    failed = one.number > 0
    values = [jnp.where(failed, x, y) for x, y in zip(one.values, other.values, strict=True)]
    return Failure(jnp.where(failed, one.number, other.number), values)


def among(failure: Failure, before: Sequence[Site], after: Sequence[Site]) -> Failure:
    """What failed, among the checks of other programs, which did not run."""
    number = jnp.where(failure.number > 0, failure.number + np.int32(len(before)), np.int32(0))
    return Failure(number, [*nothing(before).values, *failure.values, *nothing(after).values])


def chosen(branches: list[Checked], given: Sequence[Any], sites: list[Site]) -> tuple[list[Any], Failure]:
    """What the branch that is chosen gives, and what failed in it; ``sites`` are the checks of all."""

    def branch(place: int) -> Callable[..., Any]:
        before = [site for checked in branches[:place] for site in checked.sites]
        own = branches[place]

        def run(*operands: Any) -> Any:
            results, failure = own.run(operands)
            return results, among(failure, before, sites[len(before) + len(own.sites) :])

        return run

    index, *operands = given
    results, failure = switch(index, [branch(place) for place in range(len(branches))], *operands)
    return results, failure


def scanned(operation: Scan, step: Checked, given: Sequence[Any]) -> tuple[list[Any], Failure]:
    """What a scan gives, and what failed in the first step in which something did."""
    consts, init, xs = operation.split(given)
    count = operation.num_carry

    def body(state: Any, slices: Any) -> Any:
        carry, before = state
        results, failure = step.run([*consts, *carry, *slices])
        return (results[:count], first(before, failure)), results[count:]

    (carry, failure), stacked = scan(
        body, (list(init), nothing(step.sites)), list(xs), operation.length, operation.reverse, operation.unroll
    )
    return [*carry, *stacked], failure


def loop(operation: While, body: Checked, condition: Checked, given: Sequence[Any]) -> tuple[list[Any], Failure]:
    """The condition is asked again where its checks count: before the loop, and after each step."""
    cond_consts, body_consts, init = operation.split(given)

    def asked(carry: Sequence[Any], failure: Failure) -> Failure:
        later = condition.run([*cond_consts, *carry])[1]
        return first(among(failure, (), condition.sites), among(later, body.sites, ()))

    def step(state: Any) -> Any:
        carry, before = state
        results, failure = body.run([*body_consts, *carry])
        return results, first(before, asked(results, failure))

    def goes_on(state: Any) -> Any:
        return condition.run([*cond_consts, *state[0]])[0][0]

    at_start = asked(init, nothing(body.sites))
    return while_loop(goes_on, step, (list(init), at_start))  # type: ignore[no-any-return]
