"""The guard of tracing's cost: it counts the same each time, and notices more work."""

from __future__ import annotations

from bench import guard

import xlascope
import xlascope.numpy as jnp


def _layers(count: int, cost: int) -> float:
    def network(x: object) -> object:
        for _ in range(count):
            for _ in range(cost):
                pass
            x = jnp.sin(x)
        return x

    program = xlascope.make_jaxpr(network)
    program(1.0)
    return guard.instructions(lambda: program(1.0))


def test_equal_work_counts_equal() -> None:
    assert _layers(20, 1) == _layers(20, 1)


def test_more_work_for_each_equation_is_flagged() -> None:
    before, now = _layers(20, 1), _layers(20, 100)
    assert guard.risen({"network": now}, {"network": before})
    assert not guard.risen({"network": before}, {"network": before})


def test_a_piece_of_work_counts_alike_again() -> None:
    make = guard.works()["lstm_trace"]
    make()()
    make()()
    first, second = guard.instructions(make()), guard.instructions(make())
    assert first > 1000 and abs(second - first) < 0.01 * first  # now and then a cache changes generations
