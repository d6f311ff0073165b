"""The guard of hot paths: it counts the same each time, notices more work, and has nothing to notice."""

from __future__ import annotations

import os
import subprocess
import sys

from bench import guard, guard_paths
from bench.sides import side

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
    make = guard_paths.tracing(side("xlascope"))["lstm_trace"]
    make()()
    make()()
    first, second = guard.instructions(make()), guard.instructions(make())
    assert first > 1000 and abs(second - first) < 0.01 * first  # now and then a cache changes generations


def test_another_number_of_compilations_is_flagged() -> None:
    once = xlascope.jit(lambda x: x * 2)
    counts = [guard.compilations(lambda: once(1.0)), guard.compilations(lambda: once(2.0))]
    assert counts == [1, 0] and not guard.recompiled({"call": counts}, {"call": [1, 0]})
    assert guard.recompiled({"call": [1, 1]}, {"call": [1, 0]}) and guard.recompiled({"call": [1, 0]}, {})


def test_no_hot_path_has_become_more_expensive() -> None:
    """Compilations are those of guard.json exactly, and instructions no more than 10 % above it.

    After a change that is worth its price, ``python -m bench.guard --write`` keeps the new counts.
    """
    settings = ("XLASCOPE_", "JAX_", "XLA_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
    command = [sys.executable, "-m", "bench.guard"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_hot_paths_are_kept() -> None:
    before, _ = guard.kept()
    assert len(before.compilations) >= 60
    later = {name for name, (_, count) in before.compilations.items() if count}
    assert later == {"jit_two_shapes", "jit_static_argument"}  # each new shape and static argument is compiled once


def test_lowering_grows_with_the_program_and_no_faster() -> None:
    short, long = (guard.instructions(lower_chain(count)) for count in (200, 800))
    assert long < 4.3 * short


def lower_chain(count: int) -> guard.Work:
    def function(x: object) -> object:
        for _ in range(count):
            x = jnp.sin(x) * 2.0 + x
        return jnp.sum(x)

    for _ in range(2):
        traced = xlascope.jit(function).trace(jnp.ones(10_000))
        traced.lower()
    return xlascope.jit(function).trace(jnp.ones(10_000)).lower
